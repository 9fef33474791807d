import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { startMediaHost } from '../../test/media/media-host.ts';
import { TEST_CA_FILE } from '../../test/tls/certificates.ts';
import { parseAllowList } from './addresses.ts';
import { ByteBudget } from './byte-budget.ts';
import { createGuardedFetch, type GuardedFetchOptions } from './guarded-fetch.ts';

async function downloads(
  t: { after(work: () => unknown): void },
  options: Partial<GuardedFetchOptions> = {},
) {
  const host = await startMediaHost();
  const allow = parseAllowList(`127.0.0.1:${host.port},localhost:${host.port}`);
  const through = createGuardedFetch({
    allow,
    ca: await readFile(TEST_CA_FILE, 'utf8'),
    ...options,
  });
  t.after(async () => {
    await through.close();
    await host.close();
  });
  host.serve('/a', { kind: 'bytes', bytes: Buffer.from('a video') });
  const get = async (url: string, keepsConnection = true) => {
    const budget = new ByteBudget(1000);
    const body = await through.download(url, { budget, keepsConnection });
    return Buffer.concat(await Array.fromAsync(body)).toString();
  };
  return { host, through, get };
}

test('downloads that may keep their connection share one; the others have their own', async (t) => {
  const { host, get } = await downloads(t);
  for (let n = 0; n < 3; n += 1) assert.equal(await get(host.url('/a')), 'a video');
  assert.equal(host.connectionCount(), 1);
  assert.equal(await get(host.url('/a'), false), 'a video');
  assert.equal(host.connectionCount(), 2);
  assert.equal(host.requests.at(-1)?.headers.connection, 'close');
});

test('an idle connection is not used when the host name has another address now', async (t) => {
  const addresses = ['127.0.0.1', '127.0.0.1', '10.0.0.1'];
  const resolve = async () => [{ address: addresses.shift() ?? '10.0.0.1', family: 4 }];
  const { host, get } = await downloads(t, { resolve });
  for (let n = 0; n < 2; n += 1) await get(host.url('/a', 'media.test'));
  assert.equal(host.connectionCount(), 1);
  await assert.rejects(get(host.url('/a', 'media.test')), { reason: 'not_public' });
});

test('a download whose idle connection the host cuts is made again, once', async (t) => {
  const { host, get } = await downloads(t);
  await get(host.url('/a'));
  host.serve('/a', { kind: 'raw', text: '' });
  await assert.rejects(get(host.url('/a')), { reason: 'not_reachable' });
  assert.equal(host.requests.length, 3);
  assert.equal(host.connectionCount(), 2);
});

test('a body that is left early closes its connection, and a close ends the idle ones', async (t) => {
  const { host, through, get } = await downloads(t);
  host.serve('/endless', { kind: 'endless' });
  const budget = new ByteBudget(2 ** 30);
  const body = await through.download(host.url('/endless'), { budget, keepsConnection: true });
  for await (const _ of body) break;
  await host.idle();
  await get(host.url('/a'));
  await through.close();
  await host.idle();
});
