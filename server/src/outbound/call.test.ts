import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import { TEST_CA_FILE } from '../../test/tls/certificates.ts';
import { type Call, type CallOutcome, callOnce, createPooledCalls, type MakeCall } from './call.ts';

const BODY = JSON.stringify({ prompt: 'a lighthouse' });
const hosts: Host[] = [];

afterEach(async () => {
  await Promise.all(hosts.splice(0).map((host) => host.close()));
});

/** A host whose responses are written byte by byte. */
interface Host {
  url: string;
  /** All bytes that arrived, of all connections. */
  received(): string;
  connectionCount(): number;
  /** Resolves when this many connections have ended. */
  connectionsEnded(count: number): Promise<void>;
  close(): Promise<void>;
}

async function startHost(
  behave: (socket: Socket) => void,
  server: Server = createServer(),
  scheme = 'http',
): Promise<Host> {
  const sockets = new Set<Socket>();
  let received = '';
  let count = 0;
  let ended = 0;
  server.on(scheme === 'https' ? 'secureConnection' : 'connection', (socket: Socket) => {
    count += 1;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      received += bytes;
    });
    socket.once('close', () => {
      ended += 1;
      server.emit('ended');
    });
    behave(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const host: Host = {
    url: `${scheme}://127.0.0.1:${port}/tasks?kind=video`,
    received: () => received,
    connectionCount: () => count,
    async connectionsEnded(wanted) {
      const signal = AbortSignal.timeout(10_000);
      while (ended < wanted) await once(server, 'ended', { signal });
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  hosts.push(host);
  return host;
}

/** Calls `act` once the complete request has arrived. */
function onRequest(act: (socket: Socket, request: string) => void) {
  return (socket: Socket) => {
    let text = '';
    socket.on('data', (bytes) => {
      text += bytes;
      if (text.includes(BODY)) act(socket, text);
    });
  };
}

/** Responds to each request with this text. */
const responding = (text: string) => onRequest((socket) => socket.write(text));
/** Responds with this text and closes the connection. */
const ending = (text: string) => onRequest((socket) => socket.end(text));

function post(url: string, more: Partial<Call> = {}): Promise<CallOutcome> {
  const headers = { 'content-type': 'application/json' };
  return callOnce({ url, method: 'POST', headers, body: BODY, timeoutSeconds: 10, ...more });
}

function expectNotSent(outcome: CallOutcome, cause: RegExp): void {
  assert.equal(outcome.kind, 'not_sent', JSON.stringify(outcome));
  if (outcome.kind === 'not_sent') assert.match(outcome.cause, cause);
}

const EMPTY = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}';
const ELSEWHERE = 'http://127.0.0.1:1/';

const RESPONSES: [string, text: string, status: number, headers: object, body: string][] = [
  [
    'status, headers and bytes',
    'HTTP/1.1 201 Created\r\nX-Request-Id: r1\r\nContent-Length: 11\r\n\r\n{"id":"j1"}',
    201,
    { 'x-request-id': 'r1', 'content-length': '11' },
    '{"id":"j1"}',
  ],
  [
    'a redirect, which is not followed',
    `HTTP/1.1 307 Go\r\nLocation: ${ELSEWHERE}\r\nContent-Length: 0\r\n\r\n`,
    307,
    { location: ELSEWHERE, 'content-length': '0' },
    '',
  ],
  [
    'the final response after interim ones',
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n${EMPTY}`,
    200,
    { 'content-length': '2' },
    '{}',
  ],
];
for (const [title, text, status, headers, body] of RESPONSES) {
  test(`a complete response on a new connection, which is closed afterwards: ${title}`, async () => {
    const host = await startHost(responding(text));
    for (let count = 1; count <= 2; count += 1) {
      const outcome = await post(host.url);
      assert.ok(outcome.kind === 'responded');
      const { body: bytes, ...rest } = outcome;
      assert.deepEqual(rest, { kind: 'responded', status, headers });
      assert.equal(Buffer.from(bytes).toString(), body);
      await host.connectionsEnded(count);
      assert.equal(host.connectionCount(), count);
    }
    assert.match(host.received(), /^POST \/tasks\?kind=video HTTP\/1\.1\r\n/);
    assert.match(host.received(), /content-length: 25\r\n/i);
  });
}

test('a call that can not connect is not sent', async () => {
  expectNotSent(await post('http://nowhere.invalid/'), /ENOTFOUND|EAI_AGAIN/);
  expectNotSent(await post('ftp://127.0.0.1/'), /not an http URL/);
  const host = await startHost(() => {});
  const https = host.url.replace('http:', 'https:');
  expectNotSent(await post(https, { timeoutSeconds: 0.2 }), /Connect Timeout.*timeout: 200ms/);
  const resetting = await startHost((socket) => socket.on('data', () => socket.resetAndDestroy()));
  const reset = await post(resetting.url.replace('http:', 'https:'));
  expectNotSent(reset, /ECONNRESET|disconnected/);
  await host.close();
  expectNotSent(await post(host.url), /ECONNREFUSED/);
});

test('a call to a host is sent only if its certificate is trusted', async () => {
  const [key, cert] = await Promise.all(
    ['server.key', 'server.crt'].map((name) => readFile(new URL(name, TEST_CA_FILE))),
  );
  const server = createTlsServer({ key, cert }).on('tlsClientError', () => {});
  const host = await startHost(responding(EMPTY), server, 'https');
  expectNotSent(await post(host.url), /certificate|issuer|SELF_SIGNED|UNABLE/i);
  assert.equal(host.received(), '');
  const outcome = await post(host.url, { ca: await readFile(TEST_CA_FILE, 'utf8') });
  assert.equal(outcome.kind === 'responded' && outcome.status, 200);
});

const SWITCH = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n';
const START = 'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"id":';
const BUSY = 'HTTP/1.1 503 Busy\r\n';
const CUT = /^HTTP 503, but /;
const RESET = /ECONNRESET|hang up/;
const soon = { timeoutSeconds: 0.3 };
const LATE = /^no complete response within 0\.3 s$/;

const UNKNOWN: [string, (socket: Socket) => void, RegExp, Partial<Call>?][] = [
  [
    'a reset before the request was read',
    (socket) => socket.once('data', () => socket.resetAndDestroy()),
    /ECONNRESET|EPIPE|hang up/,
    { body: 'x'.repeat(2 ** 22) },
  ],
  ['a reset after the request', onRequest((socket) => socket.resetAndDestroy()), RESET],
  ['a connection closed without a response', ending(''), RESET],
  ['no response headers in time', () => {}, LATE, soon],
  ['a switch of protocols', responding(SWITCH), LATE, soon],
  ['only an interim response', responding('HTTP/1.1 100 Continue\r\n\r\n'), LATE, soon],
  ['a stalled body', responding(START), /^HTTP 200, but no complete response within 0\.3 s$/, soon],
  [
    'a body that arrives byte by byte',
    onRequest((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n');
      const timer = setInterval(() => socket.write('.'), 20);
      socket.once('close', () => clearInterval(timer));
    }),
    /^HTTP 200, but no complete/,
    soon,
  ],
  ['a body shorter than its length', ending(`${BUSY}Content-Length: 99\r\n\r\nhello`), CUT],
  ['a chunked body cut off', ending(`${BUSY}Transfer-Encoding: chunked\r\n\r\n5\r\nhello`), CUT],
  [
    'a reset in the body',
    onRequest((socket) => socket.write(START, () => socket.resetAndDestroy())),
    /ECONNRESET|aborted/,
  ],
  [
    'a response that is too large',
    responding(`HTTP/1.1 200 OK\r\nContent-Length: ${2 ** 30}\r\n\r\n${'x'.repeat(2 ** 16)}`),
    /^HTTP 200, but its body is larger than 1000 bytes$/,
    { maxResponseBytes: 1000 },
  ],
  ['a response that is not HTTP', ending('SSH-2.0-OpenSSH_9.6\r\n'), /HPE_|Parse/],
];

for (const [title, behave, cause, more] of UNKNOWN) {
  // If the deadline did not work, some of these calls would never return.
  test(`an unknown outcome, and a closed connection: ${title}`, { timeout: 30_000 }, async () => {
    const host = await startHost(behave);
    const outcome = await post(host.url, more);
    assert.ok(outcome.kind === 'unknown', JSON.stringify(outcome));
    assert.match(outcome.cause, cause);
    assert.ok((outcome.bytesSent ?? 0) > BODY.length);
    await host.connectionsEnded(1);
    assert.equal(host.connectionCount(), 1);
  });
}

test('when the time to send is over, no byte is sent on the open connection', async () => {
  const host = await startHost(responding(EMPTY));
  const asked: boolean[] = [];
  const asking = (mayStillSend: boolean) => ({
    mayStillSend: () => asked.push(mayStillSend) > 0 && mayStillSend,
  });
  expectNotSent(await post('http://nowhere.invalid/', asking(true)), /./);
  assert.deepEqual(asked, []);
  expectNotSent(await post(host.url, asking(false)), /time to send was over/);
  await host.connectionsEnded(1);
  assert.deepEqual([asked, host.connectionCount(), host.received()], [[false], 1, '']);
  assert.equal((await post(host.url, asking(true))).kind, 'responded');
  assert.deepEqual(asked, [false, true]);
});

test('a body that is a stream arrives as it is, and is closed when the host stops reading', async () => {
  const head = { 'content-length': '6' };
  const sent = await startHost((socket) => {
    socket.on('data', () => {
      if (sent.received().endsWith('abcdef')) socket.end('HTTP/1.1 204 No Content\r\n\r\n');
    });
  });
  async function* parts() {
    yield Buffer.from('abc');
    yield Buffer.from('def');
  }
  const outcome = await post(sent.url, { headers: head, body: parts() });
  assert.equal(outcome.kind, 'responded');
  const stalled = await startHost((socket) => socket.pause());
  const chunk = Buffer.alloc(2 ** 20);
  let readBytes = 0;
  let isClosed = false;
  async function* large() {
    try {
      for (; readBytes < 2 ** 30; readBytes += chunk.length) yield chunk;
    } finally {
      isClosed = true;
    }
  }
  const headers = { 'content-length': String(2 ** 30) };
  const late = await post(stalled.url, { headers, body: large(), timeoutSeconds: 0.5 });
  assert.equal(late.kind, 'unknown');
  assert.ok(isClosed);
  assert.ok(readBytes < 64 * 2 ** 20, `${readBytes} bytes were read for a host that reads nothing`);
});

test('a body that fails is an unknown outcome', async () => {
  async function* failing() {
    yield Buffer.from('abc');
    throw new Error('the disk is gone');
  }
  const { url } = await startHost(() => {});
  const outcome = await post(url, { headers: { 'content-length': '6' }, body: failing() });
  assert.ok(outcome.kind === 'unknown' && outcome.cause.includes('the disk is gone'));
});

function get(call: MakeCall, url: string, timeoutSeconds = 5) {
  return call({ url, method: 'GET', headers: {}, timeoutSeconds, maxResponseBytes: 100 });
}

/** Acts on each GET, by its number. */
function onGet(act: (socket: Socket, number: number) => void) {
  let requests = 0;
  return (socket: Socket) => socket.on('data', () => act(socket, ++requests));
}

test('pooled calls that follow each other share a connection; those at the same time do not', async () => {
  const host = await startHost(onGet((socket) => socket.write(EMPTY)));
  const call = createPooledCalls();
  for (let n = 0; n < 3; n += 1) {
    assert.equal((await get(call, host.url)).kind, 'responded');
    await setImmediate(); // undici reuses a connection in the next tick
  }
  assert.equal(host.connectionCount(), 1);
  const both = await Promise.all([get(call, host.url), get(call, host.url)]);
  assert.ok(both.every(({ kind }) => kind === 'responded'));
  assert.equal(host.connectionCount(), 2);
});

test('a pooled call is made again, once, when the host closes its connection', async () => {
  const host = await startHost(
    onGet((socket, n) => (n === 2 || n > 3 ? socket.destroy() : socket.write(EMPTY))),
  );
  const call = createPooledCalls();
  for (let n = 0; n < 2; n += 1) assert.equal((await get(call, host.url)).kind, 'responded');
  assert.equal(host.received().match(/GET/g)?.length, 3);
  assert.equal((await get(call, host.url)).kind, 'unknown');
  assert.equal(host.received().match(/GET/g)?.length, 5);
});

test('a pooled call ends at its deadline, also on an open connection, and is not made again', async () => {
  const host = await startHost(onGet((socket, n) => n === 1 && socket.write(EMPTY)));
  const call = createPooledCalls();
  await get(call, host.url);
  const outcome = await get(call, host.url, 0.1);
  assert.deepEqual(outcome, { kind: 'unknown', cause: 'no complete response within 0.1 s' });
  assert.equal(host.received().match(/GET/g)?.length, 2);
});
