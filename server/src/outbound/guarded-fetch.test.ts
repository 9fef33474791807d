import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { bytesFrom as get, openDownloads } from '../../test/media/downloads.ts';
import { startMediaHost } from '../../test/media/media-host.ts';
import { ByteBudget } from './byte-budget.ts';
import type { GuardedFetchOptions } from './guarded-fetch.ts';
import { OutboundError } from './refusal.ts';

/** A second loopback address, used as a private host that is not allowed. */
const PRIVATE_ADDRESS = process.platform === 'linux' ? '127.0.0.2' : '::1';
const BYTES = Buffer.from('not really a picture');

const { host, open } = await openDownloads();
host.serve('/a.png', { kind: 'bytes', bytes: BYTES, headers: { 'content-type': 'image/png' } });

const guardedFetch = (allow?: string, options?: Partial<GuardedFetchOptions>) =>
  open(options, allow);

function refused(reason: string, details: Record<string, unknown> = {}) {
  return (error: unknown) => {
    assert.ok(error instanceof OutboundError, String(error));
    assert.equal(error.reason, reason, error.message);
    assert.deepEqual(error.details, details);
    return true;
  };
}

test('a download has the bytes; its request has no fragment and only the necessary headers', async () => {
  const url = host.url('/a.png?x=1#y');
  const got = await get(guardedFetch(), url);
  assert.deepEqual(got, BYTES);
  const { headers, path } = host.requests.at(-1) ?? assert.fail();
  assert.equal(path, '/a.png?x=1');
  assert.deepEqual(headers, {
    host: `localhost:${host.port}`,
    connection: 'close',
    'user-agent': 'Framewright/1.0',
    'accept-encoding': 'identity',
  });
});

test('without the allow list no connection to a private host is opened', async () => {
  const before = host.connectionCount();
  const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
  for (const name of ['localhost', '127.0.0.1', 'media.test']) {
    const download = get(guardedFetch('', { resolve }), host.url('/a.png', name));
    await assert.rejects(download, refused('not_public'), name);
  }
  assert.equal(host.connectionCount(), before);
});

test('when DNS changes between check and connect, the connection goes to the checked address', async (t) => {
  const inner = await startMediaHost({ address: PRIVATE_ADDRESS, port: host.port });
  t.after(inner.close);
  inner.serve('/a.png', { kind: 'bytes', bytes: Buffer.from('secret') });
  host.serve('/again', { kind: 'redirect', to: '/a.png' });
  const responses = ['127.0.0.1', PRIVATE_ADDRESS, PRIVATE_ADDRESS];
  const resolve = async () => [{ address: responses.shift() ?? PRIVATE_ADDRESS, family: 4 }];
  const rebound = guardedFetch(`127.0.0.1:${host.port}`, { resolve });
  assert.deepEqual(await get(rebound, host.url('/a.png', 'media.test')), BYTES);
  await assert.rejects(get(rebound, host.url('/a.png', 'media.test')), refused('not_public'));
  responses.unshift('127.0.0.1');
  const redirected = get(rebound, host.url('/again', 'media.test'));
  await assert.rejects(redirected, refused('not_public', { redirects: 1 }));
  assert.equal(inner.connectionCount(), 0);
});

test('when a checked address does not connect, the next one is tried', async () => {
  const resolve = async () => [
    { address: PRIVATE_ADDRESS, family: PRIVATE_ADDRESS.includes(':') ? 6 : 4 },
    { address: '127.0.0.1', family: 4 },
  ];
  const allowed = guardedFetch(`media.test:${host.port}`, { resolve });
  assert.deepEqual(await get(allowed, host.url('/a.png', 'media.test')), BYTES);
});

test('five redirects are followed and a sixth is not', async () => {
  for (let step = 1; step <= 6; step += 1) {
    const to = step === 1 ? '/a.png' : host.url(`/step${step - 1}`);
    const status = [301, 302, 303, 307, 308][step % 5];
    host.serve(`/step${step}`, { kind: 'redirect', to, status });
  }
  const allowed = guardedFetch();
  assert.deepEqual(await get(allowed, host.url('/step5')), BYTES);
  assert.equal(host.requests.at(-1)?.path, '/a.png');
  const sixth = get(allowed, host.url('/step6'));
  await assert.rejects(sixth, refused('too_many_redirects', { limit: 5 }));
});

test('each redirect is checked like the first URL: scheme, credentials, address', async (t) => {
  const plain = await startMediaHost({ tls: false });
  t.after(plain.close);
  const inner = await startMediaHost();
  t.after(inner.close);
  const allowed = guardedFetch(`localhost:${host.port},localhost:${plain.port}`);
  const targets: [string, string][] = [
    [plain.url('/a.png'), 'not_https'],
    ['http://example.com/', 'not_https'],
    ['file:///etc/passwd', 'not_https'],
    [`https://u:p@localhost:${host.port}/a.png`, 'credentials_in_url'],
    [inner.url('/a.png'), 'not_public'],
    [inner.url('/a.png', '127.0.0.1'), 'not_public'],
    ['https://169.254.169.254/latest/meta-data/', 'not_public'],
    ['//[::1]/', 'not_public'],
    ['https://[', 'malformed_url'],
  ];
  for (const [to, reason] of targets) {
    const download = get(allowed, host.serve('/away', { kind: 'redirect', to }));
    await assert.rejects(download, refused(reason, { redirects: 1 }), to);
  }
  assert.equal(plain.connectionCount() + inner.connectionCount(), 0);
});

test('the caller’s headers are sent to the first origin only', async (t) => {
  const other = await startMediaHost();
  t.after(other.close);
  other.serve('/a.png', { kind: 'bytes', bytes: BYTES });
  host.serve('/same', { kind: 'redirect', to: '/over' });
  host.serve('/over', { kind: 'redirect', to: other.url('/a.png') });
  const allowed = guardedFetch(`localhost:${host.port},localhost:${other.port}`);
  await get(allowed, host.url('/same'), { headers: { authorization: 'Bearer x' } });
  const seen = [...host.requests.slice(-2), ...other.requests];
  assert.deepEqual(
    seen.map(({ path, headers }) => [path, headers.authorization]),
    [
      ['/same', 'Bearer x'],
      ['/over', 'Bearer x'],
      ['/a.png', undefined],
    ],
  );
});

test('an encoded body is decoded, and the budget counts decoded bytes', async () => {
  const bytes = Buffer.alloc(100_000, 'abc');
  const encoders = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync };
  const allowed = guardedFetch();
  for (const [encoding, encode] of Object.entries(encoders)) {
    const headers = { 'content-encoding': encoding };
    const url = host.serve('/encoded', { kind: 'bytes', bytes: encode(bytes), headers });
    const budget = new ByteBudget(100_000);
    assert.deepEqual(await get(allowed, url, { budget }), bytes, encoding);
    assert.equal(budget.usedBytes, 100_000);
  }
});
