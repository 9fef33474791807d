import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { bytesFrom, openDownloads } from '../../test/media/downloads.ts';
import { type Behaviour, startMediaHost } from '../../test/media/media-host.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import { OutboundError, refusalFor } from './refusal.ts';

const BYTES = Buffer.from('eleven char');
const MEGABYTE = 1_000_000;

const { host, open } = await openDownloads();
const guardedFetch = open();

async function failure(through: GuardedFetch, url: string, deadlineSeconds?: number) {
  const error = await bytesFrom(through, url, { deadlineSeconds }).catch((error) => error);
  assert.ok(error instanceof OutboundError, `${url}: ${error}`);
  return error;
}

type Expected = [reason: string, words: RegExp, details?: Record<string, unknown>];

function expect(error: OutboundError, [reason, words, details]: Expected) {
  assert.equal(error.reason, reason, error.message);
  assert.match(error.message, words);
  assert.deepEqual(error.details, details ?? {});
  assert.doesNotMatch(error.message, /127\.0\.0\.1|::1/);
}

function raw(text: string): Behaviour {
  return { kind: 'raw', text };
}

function bytes(headers: Record<string, string>, status = 200): Behaviour {
  return { kind: 'bytes', bytes: BYTES, headers, status };
}

const OK = 'HTTP/1.1 200 OK\r\n';
const UNREACHED = 'not_reachable';
const CUT: Expected = [UNREACHED, /before the whole response had arrived/];
const NOT_HTTP: Expected = [UNREACHED, /valid HTTP/];
const LARGE_HEADERS: Expected = [UNREACHED, /headers.*large/];
const UNDECODED: Expected = [UNREACHED, /could not be decoded/];
const LIMIT = { limit_bytes: MEGABYTE };
const OVER: Expected = ['too_large', /more than 1000000 bytes/, LIMIT];
const ANNOUNCED: Expected = ['too_large', /has 1000001 bytes.*at most 1000000 bytes/, LIMIT];

const UNKNOWN: Expected = [UNREACHED, /unknown content enc/];

type Failure = [title: string, behaviour: Behaviour, expected: Expected];
const encoded = (encoding: string, expected: Expected): Failure => [
  `a body that is not ${encoding}`,
  bytes({ 'content-encoding': encoding }),
  expected,
];

const FAILURES: Failure[] = [
  ['a body shorter than its content length', bytes({ 'content-length': '100' }), CUT],
  ['a reset in the body', { kind: 'reset', bytes: BYTES }, CUT],
  ['a chunked body that ends early', raw(`${OK}transfer-encoding: chunked\r\n\r\n5\r\nabc`), CUT],
  ['a connection closed without a response', raw(''), CUT],
  ['a response that is not HTTP', raw('SSH-2.0-x\r\n'), NOT_HTTP],
  ['a negative length', raw(`${OK}content-length: -5\r\n\r\nabc`), NOT_HTTP],
  ['headers over 16 KB', raw(`${OK}x: ${'y'.repeat(17_000)}\r\n\r\n`), LARGE_HEADERS],
  ['an endless body', { kind: 'endless' }, OVER],
  ['a gzip bomb', { kind: 'gzip_bomb', decodedBytes: 100 * MEGABYTE }, OVER],
  ['a content length over the budget', bytes({ 'content-length': '1000001' }), ANNOUNCED],
  ...['zstd', 'gzip, gzip', 'toString'].map((encoding) => encoded(encoding, UNKNOWN)),
  ...['gzip', 'br', 'deflate'].map((encoding) => encoded(encoding, UNDECODED)),
];

for (const [title, behaviour, expected] of FAILURES) {
  test(`a download is refused after one try and its connection closed: ${title}`, async () => {
    const before = host.connectionCount();
    expect(await failure(guardedFetch, host.serve('/file', behaviour)), expected);
    await host.idle();
    assert.equal(host.connectionCount(), before + 1);
  });
}

test('a host that is too slow is refused as too_slow', async (t) => {
  const noHeaders = open({ headersTimeoutSeconds: 0.3 });
  const stall = host.serve('/stall', { kind: 'stall' });
  expect(await failure(noHeaders, stall), ['too_slow', /begin its response/]);
  const noBody = open({ idleTimeoutSeconds: 0.3 });
  const stopping = host.serve('/stopping', { kind: 'stall_in_body', bytes: BYTES });
  expect(await failure(noBody, stopping), ['too_slow', /stopped sending/]);
  const resolve = () => new Promise<never>(() => {});
  const never = open({ resolve, connectTimeoutSeconds: 0.3 });
  expect(await failure(never, 'https://media.test/'), ['too_slow', /not resolved in time/]);
  const silent = createServer((socket) => socket.resume());
  t.after(() => silent.close());
  const port = await listen(silent);
  const waiting = open({ connectTimeoutSeconds: 0.3 }, `localhost:${port}`);
  const unconnected = await failure(waiting, `https://localhost:${port}/`);
  expect(unconnected, ['too_slow', /did not connect in time/]);
  const strict = open({ pace: { graceSeconds: 0.2, bytesPerSecond: 1000 } });
  const drip = host.serve('/drip', { kind: 'drip', chunkBytes: 3, everySeconds: 0.02 });
  const slow = await failure(strict, drip);
  assert.deepEqual([slow.reason, slow.message], ['too_slow', 'The host sends too slowly']);
  await host.idle();
});

test('the deadline covers redirects, DNS, headers and a body that trickles', async () => {
  const patient = open({ headersTimeoutSeconds: 60 });
  host.serve('/stalled', { kind: 'stall' });
  const url = host.serve('/to-stalled', { kind: 'redirect', to: '/stalled' });
  const resolve = () => new Promise<never>(() => {});
  const unresolved = open({ resolve, connectTimeoutSeconds: 60 });
  const drip = host.serve('/drip', { kind: 'drip', chunkBytes: 3, everySeconds: 0.02 });
  for (const [through, to] of [
    [patient, url],
    [unresolved, 'https://media.test/'],
    [patient, drip],
  ] as const) {
    const late: Expected = ['too_slow', /longer than 0.3 seconds/, { deadline_seconds: 0.3 }];
    expect(await failure(through, to, 0.3), late);
  }
});

test('every status without a whole file is refused, with the status in the details', async () => {
  for (const status of [204, 205, 206, 300, 304, 400, 401, 403, 404, 410, 429, 500, 503]) {
    const error = await failure(guardedFetch, host.serve('/status', bytes({}, status)));
    expect(error, [UNREACHED, new RegExp(`status ${status}`), { http_status: status }]);
  }
  const withoutLocation = await failure(guardedFetch, host.serve('/status', bytes({}, 302)));
  expect(withoutLocation, [UNREACHED, /status 302/, { http_status: 302 }]);
});

test('the body of a refused response or a redirect is not read', async () => {
  const endless = (status: number, headers: Record<string, string>) =>
    host.serve('/endless', { kind: 'endless', status, headers });
  const missing = await failure(guardedFetch, endless(404, {}));
  expect(missing, [UNREACHED, /status 404/, { http_status: 404 }]);
  await host.idle();
  const unknown = await failure(guardedFetch, endless(200, { 'content-encoding': 'zstd' }));
  expect(unknown, [UNREACHED, /unknown content encoding/]);
  await host.idle();
  const redirect = await failure(guardedFetch, endless(302, { location: 'http://example.com/' }));
  expect(redirect, ['not_https', /after 1 redirect/, { redirects: 1 }]);
  await host.idle();
});

test('a host that can not be reached is refused as not_reachable', async (t) => {
  const none = open({ resolve: async () => [] });
  expect(await failure(none, 'https://media.test/'), [UNREACHED, /no address/]);
  const overlongLabel = `https://${'a'.repeat(64)}.test/`; // fails without asking the network
  expect(await failure(guardedFetch, overlongLabel), [UNREACHED, /could not be resolved/]);
  const gone = await startMediaHost();
  await gone.close();
  const closed = await failure(open({}, `localhost:${gone.port}`), gone.url('/a.png'));
  expect(closed, [UNREACHED, /refused the connection/]);
  const plain = await startMediaHost({ tls: false });
  t.after(plain.close);
  const url = `https://localhost:${plain.port}/`;
  expect(await failure(open({}, `localhost:${plain.port}`), url), [UNREACHED, /TLS/]);
});

test('a certificate for another name or of an unknown authority is refused', async () => {
  const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
  const before = host.requests.length;
  const named = open({ resolve }, `127.0.0.1:${host.port}`);
  const other = await failure(named, host.url('/a.png', 'other.test'));
  expect(other, [UNREACHED, /TLS/]);
  expect(await failure(open({ ca: undefined }), host.url('/a.png')), [UNREACHED, /TLS/]);
  assert.equal(host.requests.length, before);
});

/** What a host may send for ever before its response. */
const ENDLESS_BEGINNINGS: [string, string, (n: number) => string][] = [
  ['interim responses', '', () => 'HTTP/1.1 103 Early Hints\r\n\r\n'],
  ['headers', OK, (n) => `x-${n}: y\r\n`],
];

for (const [title, first, next] of ENDLESS_BEGINNINGS) {
  test(`a host whose ${title} never end does not begin its response in time`, async (t) => {
    const trickling = createServer(async (socket) => {
      socket.on('error', () => {});
      socket.write(first);
      for (let n = 0; !socket.destroyed; n += 1) {
        socket.write(next(n));
        await delay(20);
      }
    });
    t.after(() => trickling.close());
    const port = await listen(trickling);
    const hurried = open({ headersTimeoutSeconds: 0.3 }, `localhost:${port}`);
    const options = { plainHttpWhereAllowed: true, deadlineSeconds: 9 };
    await assert.rejects(bytesFrom(hurried, `http://localhost:${port}/`, options), {
      reason: 'too_slow',
      message: 'The host did not begin its response in time',
    });
  });
}

test('a bug of the service is not reported as a failure of the host', async () => {
  const bug = new TypeError('x is not a function');
  assert.equal(refusalFor(bug), bug);
  const resolve = async () => {
    throw bug;
  };
  await assert.rejects(bytesFrom(open({ resolve }), 'https://media.test/'), bug);
});

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
