import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { audit } from '../../src/operator/audit.ts';
import { until } from '../until.ts';
import { openDeployment } from './upgrade-load.ts';

/** Sends the load to the addresses that are ready, as a load balancer does, until it is stopped. */
function balance(urls: string[], use: (ready: string[]) => Promise<void>) {
  let isStopped = false;
  const isReady = (url: string) =>
    fetch(`${url}/readyz`).then(
      ({ status }) => status === 200,
      () => false,
    );
  const running = (async () => {
    while (!isStopped) {
      const ready = await Promise.all(urls.map(isReady));
      void use(urls.filter((_, index) => ready[index]));
      await delay(100);
    }
  })();
  return async () => {
    isStopped = true;
    await running;
  };
}

test('both APIs and the worker are restarted under load, and no request fails', async (t) => {
  const { database, cleanup, start, startLoad } = await openDeployment(t);
  const startApi = (url?: string) =>
    start({ ROLES: 'api', DRAIN_SECONDS: '1', ...(url && { PORT: new URL(url).port }) });
  let worker = await start({ ROLES: 'worker' });
  const apis = [await startApi(), await startApi()];
  const urls = apis.map(({ url }) => url);
  const load = startLoad(urls);
  cleanup.defer(balance(urls, (ready) => load.use(ready)));
  const goesOn = async () => {
    const before = load.accepted();
    await until(
      async () => load.accepted(),
      (count) => count > before + 2,
    );
  };
  await goesOn();
  for (const api of apis) {
    const ended = api.kill('SIGTERM');
    await until(
      async () => (await fetch(`${api.url}/readyz`)).status,
      (status) => status === 503,
    );
    const response = await fetch(`${api.url}/healthz`);
    assert.deepEqual([response.status, response.headers.get('connection')], [200, 'close']);
    assert.equal(await ended, 0);
    await goesOn();
    await startApi(api.url);
  }
  assert.equal(await worker.kill('SIGTERM'), 0);
  worker = await start({ ROLES: 'worker' });
  await goesOn();
  await load.stop();
  assert.deepEqual(load.failures(), []);
  t.diagnostic(`slowest request: ${load.slowest().toFixed(2)} s, ${load.accepted()} creates`);
  assert.deepEqual(await audit(database.db), { ok: true, problems: [] });
});
