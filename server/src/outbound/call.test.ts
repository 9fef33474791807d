import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, test } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { TEST_CA_FILE } from '../../test/tls/certificates.ts';
import { type Call, type CallOutcome, callOnce } from './call.ts';

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

/** Resets the connection after the text was written. */
function writeAndReset(socket: Socket, text: string): void {
  socket.write(text, () => socket.resetAndDestroy());
}

function post(url: string, more: Partial<Call> = {}): Promise<CallOutcome> {
  const headers = { 'content-type': 'application/json' };
  return callOnce({ url, method: 'POST', headers, body: BODY, timeoutSeconds: 10, ...more });
}

function expectUnknown(outcome: CallOutcome, cause: RegExp): void {
  assert.equal(outcome.kind, 'unknown', JSON.stringify(outcome));
  if (outcome.kind === 'unknown') assert.match(outcome.cause, cause);
}

function expectNotSent(outcome: CallOutcome, cause: RegExp): void {
  assert.equal(outcome.kind, 'not_sent', JSON.stringify(outcome));
  if (outcome.kind === 'not_sent') assert.match(outcome.cause, cause);
}

test('a complete response has a status, headers and bytes', async () => {
  const response =
    'HTTP/1.1 201 Created\r\nX-Request-Id: r1\r\nContent-Length: 11\r\n\r\n{"id":"j1"}';
  const host = await startHost(onRequest((socket) => socket.write(response)));
  const outcome = await post(host.url);
  assert.equal(outcome.kind, 'responded');
  if (outcome.kind !== 'responded') return;
  assert.equal(outcome.status, 201);
  assert.equal(outcome.headers['x-request-id'], 'r1');
  assert.equal(Buffer.from(outcome.body).toString(), '{"id":"j1"}');
  assert.match(host.received(), /^POST \/tasks\?kind=video HTTP\/1\.1\r\n/);
  assert.match(host.received(), /content-length: 25\r\n/i);
});

test('two calls use two connections, which are closed afterwards', async () => {
  const host = await startHost(
    onRequest((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}')),
  );
  await post(host.url);
  await post(host.url);
  await host.connectionsEnded(2);
  assert.equal(host.connectionCount(), 2);
});

test('a redirect is a response and is not followed', async () => {
  const other = await startHost(() => {});
  const response = `HTTP/1.1 307 Go\r\nLocation: ${other.url}\r\nContent-Length: 0\r\n\r\n`;
  const host = await startHost(onRequest((socket) => socket.write(response)));
  const outcome = await post(host.url);
  assert.equal(outcome.kind === 'responded' && outcome.status, 307);
  assert.equal(other.connectionCount(), 0);
});

test('a call to a name that does not resolve is not sent', async () => {
  expectNotSent(await post('http://nowhere.invalid/'), /ENOTFOUND|EAI_AGAIN/);
});

test('a call to an address that is not an http URL is not sent', async () => {
  expectNotSent(await post('ftp://127.0.0.1/'), /not an http URL/);
});

test('a call whose connection is refused is not sent', async () => {
  const host = await startHost(() => {});
  await host.close();
  expectNotSent(await post(host.url), /ECONNREFUSED/);
});

test('a call to a host with an untrusted certificate is not sent, and no byte arrives', async () => {
  const host = await startTlsHost();
  expectNotSent(await post(host.url), /certificate|issuer|SELF_SIGNED|UNABLE/i);
  assert.equal(host.received(), '');
});

test('a call to a host with a trusted certificate is sent', async () => {
  const host = await startTlsHost();
  const outcome = await post(host.url, { ca: await readFile(TEST_CA_FILE, 'utf8') });
  assert.equal(outcome.kind === 'responded' && outcome.status, 200);
});

async function startTlsHost(): Promise<Host> {
  const [key, cert] = await Promise.all(
    ['server.key', 'server.crt'].map((name) => readFile(new URL(name, TEST_CA_FILE))),
  );
  const response = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}';
  const server = createTlsServer({ key, cert }).on('tlsClientError', () => {});
  return startHost(
    onRequest((socket) => socket.write(response)),
    server,
    'https',
  );
}

test('a call is not sent when the TLS handshake does not end in time', async () => {
  const host = await startHost(() => {});
  const url = host.url.replace('http:', 'https:');
  expectNotSent(await post(url, { timeoutSeconds: 0.2 }), /not connected within 0\.2 s/);
});

test('a call is not sent when the host resets the TLS handshake', async () => {
  const host = await startHost((socket) => socket.on('data', () => socket.resetAndDestroy()));
  expectNotSent(await post(host.url.replace('http:', 'https:')), /ECONNRESET|disconnected/);
});

test('a reset before the request was read is an unknown outcome', async () => {
  const host = await startHost((socket) => socket.once('data', () => socket.resetAndDestroy()));
  const body = 'x'.repeat(2 ** 22);
  expectUnknown(await post(host.url, { body }), /ECONNRESET|EPIPE|hang up/);
});

test('a reset after the whole request is an unknown outcome', async () => {
  const host = await startHost(onRequest((socket) => socket.resetAndDestroy()));
  const outcome = await post(host.url);
  expectUnknown(outcome, /ECONNRESET|hang up/);
  assert.ok(outcome.kind === 'unknown' && (outcome.bytesSent ?? 0) > BODY.length);
});

test('a connection closed without a response is an unknown outcome', async () => {
  const host = await startHost(onRequest((socket) => socket.end()));
  expectUnknown(await post(host.url), /ECONNRESET|hang up/);
});

test('when the response headers do not arrive in time, the outcome is unknown', async () => {
  const host = await startHost(() => {});
  const outcome = await post(host.url, { timeoutSeconds: 0.3 });
  expectUnknown(outcome, /^no complete response within 0\.3 s$/);
  await host.connectionsEnded(1);
});

// If the timeout did not work, these calls would never return.
const testTimeout = { timeout: 30_000 };

test(
  'when the host switches protocols, the outcome is unknown after the timeout',
  testTimeout,
  async () => {
    const response =
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n';
    const host = await startHost(onRequest((socket) => socket.write(response)));
    expectUnknown(
      await post(host.url, { timeoutSeconds: 0.3 }),
      /^no complete response within 0\.3 s$/,
    );
    await host.connectionsEnded(1);
  },
);

test(
  'after only an interim response the outcome is unknown after the timeout',
  testTimeout,
  async () => {
    const response = 'HTTP/1.1 100 Continue\r\n\r\n';
    const host = await startHost(onRequest((socket) => socket.write(response)));
    expectUnknown(
      await post(host.url, { timeoutSeconds: 0.3 }),
      /^no complete response within 0\.3 s$/,
    );
  },
);

test('interim responses are skipped, and the final response is returned', testTimeout, async () => {
  const hints = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n';
  const response = 'HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{}';
  const host = await startHost(onRequest((socket) => socket.write(hints + response)));
  const outcome = await post(host.url);
  assert.equal(outcome.kind === 'responded' && outcome.status, 202);
});

test('a stalled body is an unknown outcome, with the status in the cause', async () => {
  const start = 'HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{"id":';
  const host = await startHost(onRequest((socket) => socket.write(start)));
  const outcome = await post(host.url, { timeoutSeconds: 0.5 });
  expectUnknown(outcome, /^HTTP 200, but no complete response within 0\.5 s$/);
});

test('the timeout ends a body that arrives byte by byte', async () => {
  const host = await startHost(
    onRequest((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n');
      const timer = setInterval(() => socket.write('.'), 20);
      socket.once('close', () => clearInterval(timer));
    }),
  );
  expectUnknown(await post(host.url, { timeoutSeconds: 0.4 }), /^HTTP 200, but no complete/);
});

test('a body that ends early is an unknown outcome, with a content length and with chunked encoding', async () => {
  for (const framing of ['Content-Length: 99', 'Transfer-Encoding: chunked']) {
    const start = `HTTP/1.1 503 Busy\r\n${framing}\r\n\r\n`;
    const host = await startHost(onRequest((socket) => socket.end(`${start}5\r\nhello`)));
    expectUnknown(await post(host.url), /^HTTP 503, but /);
  }
});

test('a reset in the body is an unknown outcome', async () => {
  const start = 'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"id":';
  const host = await startHost(onRequest((socket) => writeAndReset(socket, start)));
  expectUnknown(await post(host.url), /ECONNRESET|aborted/);
});

test('a response that is too large is an unknown outcome and is not read to its end', async () => {
  const start = `HTTP/1.1 200 OK\r\nContent-Length: ${2 ** 30}\r\n\r\n`;
  const host = await startHost(
    onRequest((socket) => {
      socket.write(start);
      socket.write(Buffer.alloc(2 ** 16));
    }),
  );
  const outcome = await post(host.url, { maxResponseBytes: 1000 });
  expectUnknown(outcome, /^HTTP 200, but its body is larger than 1000 bytes$/);
  await host.connectionsEnded(1);
});

test('a response that is not HTTP is an unknown outcome', async () => {
  const host = await startHost(onRequest((socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n')));
  expectUnknown(await post(host.url), /HPE_|Parse/);
});

test('when the time to send is over, no byte is sent on the open connection', async () => {
  const host = await startHost(() => {});
  let asked = 0;
  const mayStillSend = () => {
    asked += 1;
    return false;
  };
  expectNotSent(await post(host.url, { mayStillSend }), /time to send was over/);
  await host.connectionsEnded(1);
  assert.equal(asked, 1);
  assert.equal(host.connectionCount(), 1);
  assert.equal(host.received(), '');
});

test('mayStillSend is called once, after the connection is open', async () => {
  const host = await startHost(
    onRequest((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')),
  );
  let asked = 0;
  const mayStillSend = () => {
    asked += 1;
    return true;
  };
  expectNotSent(await post('http://nowhere.invalid/', { mayStillSend }), /./);
  assert.equal(asked, 0);
  assert.equal((await post(host.url, { mayStillSend })).kind, 'responded');
  assert.equal(asked, 1);
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
  const host = await startHost(() => {});
  async function* failing() {
    yield Buffer.from('abc');
    throw new Error('the disk is gone');
  }
  const outcome = await post(host.url, { headers: { 'content-length': '6' }, body: failing() });
  assert.ok(outcome.kind === 'unknown' && outcome.cause.includes('the disk is gone'));
});
