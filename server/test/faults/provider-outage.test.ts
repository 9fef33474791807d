import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startSimulator } from '../../../simulators/kit/process.ts';
import { audit } from '../../src/operator/audit.ts';
import { type Client, client, SMALLEST } from '../client.ts';
import { makeCustomer } from '../customer.ts';
import { createTestDatabase } from '../database.ts';
import { imageBytes } from '../media/media-fixture.ts';
import { startMediaHost } from '../media/media-host.ts';
import { startServiceProcess } from '../service/service-process.ts';
import { sql } from '../task-fixtures.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';

const CREDITS = 100_000;
/** Tasks that are announced when the outage begins. */
const TASKS = 3;

test('a provider outage reserves nothing new, repeats no download and loses no task', async (t) => {
  const cleanup = new AsyncDisposableStack(); // the last first
  t.after(() => cleanup.disposeAsync());
  const { db, url, close } = await createTestDatabase();
  cleanup.defer(close);
  const folder = cleanup.use(await temporaryFolder());
  const host = cleanup.adopt(await startMediaHost(), ({ close }) => close());
  const startProvider = (port: string) =>
    startSimulator('ark', folder.path, ['--port', port, '--job-seconds', '0.5']);
  let provider = await startProvider('0');
  cleanup.defer(() => provider.kill());
  const { host: address, port } = new URL(provider.url);
  const service = cleanup.use(
    await startServiceProcess({
      DATABASE_URL: url,
      DATA_DIR: folder.path,
      CREATE_WAIT_SECONDS: '0',
      PROVIDER: 'ark',
      ARK_API_KEY: 'outage',
      ARK_BASE_URL: `${provider.url}/api/v3`,
      OUTBOUND_ALLOW: `localhost:${host.port}`,
      PROVIDER_ALLOW: address,
    }),
  );
  const bytes = await imageBytes('png', 640, 360);
  const image_url = host.serve('/frame.png', { kind: 'bytes', bytes });
  const makeClient = async () => client(service.url, (await makeCustomer(db, CREDITS)).secret);
  const create = (customer: Client) =>
    createOrRefuse(customer, { ...SMALLEST, mode: 'image-to-video', image_url });
  const tasks = () =>
    sql<{ phase: string; attempts: number }>(
      db,
      `select t.phase, (select count(*)::int from attempts a where a.task_id = t.id) as attempts
       from tasks t`,
    );

  const customer = await makeClient();
  await provider.kill();
  for (let count = 0; count < TASKS; count += 1) await create(customer);
  const other = await makeClient();
  let refused = 0;
  for (let count = 0; count < 8; count += 1) {
    refused += (await create(other)) === undefined ? 0 : 1;
    assert.equal((await other.credits()).status, 200);
    await delay(500);
  }
  const during = await tasks();
  const attempts = during.reduce((sum, row) => sum + row.attempts, 0);
  t.diagnostic(`${during.length} tasks made ${attempts} attempts; ${refused} creates were refused`);
  assert.ok(refused > 0);
  assert.ok(during.every(({ phase }) => phase === 'submitting' || phase === 'ingesting'));
  assert.ok(attempts < 2 * during.length, 'a task that waits makes no attempt');
  assert.ok(host.requests.length <= during.length, 'each file was fetched once');

  provider = await startProvider(port);
  const endedAt = performance.now();
  const since = () => `${((performance.now() - endedAt) / 1000).toFixed(1)} s`;
  for (let wait: number | undefined = 0; wait !== undefined; ) {
    wait = await create(other);
    await delay((wait ?? 0) * 1000);
  }
  t.diagnostic(`a create passed ${since()} after the outage`);
  const rows = await until(tasks, (all) => all.every(({ phase }) => phase === 'completed'));
  t.diagnostic(`all tasks were completed ${since()} after the outage`);
  assert.equal((await provider.jobs()).length, rows.length, 'one job for each task');
  assert.deepEqual(await audit(db), { ok: true, problems: [] });
});

/** @returns the Retry-After of a refused create; undefined if it was taken */
async function createOrRefuse(customer: Client, sent: object): Promise<number | undefined> {
  const { status, body, headers } = await customer.create(sent);
  if (status === 202) return undefined;
  assert.deepEqual([status, body.error.details.reason], [503, 'not_taken']);
  const seconds = Number(headers.get('retry-after'));
  assert.ok(seconds >= 1);
  return seconds;
}
