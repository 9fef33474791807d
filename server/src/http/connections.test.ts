import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import net, { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { fastify } from 'fastify';
import { openTestApp } from '../../test/app.ts';
import { createLingeringClose, limitBodyTime } from './connections.ts';

const MEGABYTE = 2 ** 20;

const api = await openTestApp();
const customer = await api.customer(1000);

/** Sends everything before it reads anything. @returns all responses of the connection */
async function sendThenRead(...parts: (string | Buffer)[]): Promise<string> {
  const socket = net.connect(Number(new URL(api.url).port), '127.0.0.1');
  for (const part of parts) socket.write(part);
  await new Promise((resolve) => socket.write('', resolve));
  return text(socket);
}

const statusesOf = (received: string) =>
  [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));

/** Requests with a body of some megabytes that is refused, and their responses. */
async function refusals() {
  const key = `Authorization: ${await customer.authorization()}\r\n`;
  const png = 'Content-Type: image/png\r\n';
  const json = 'Content-Type: application/json\r\nIdempotency-Key: a\r\n';
  return [
    { path: '/api/v1/uploads', headers: png, status: 401 },
    { path: '/api/v1/uploads', headers: `${key}Content-Type: text/html\r\n`, status: 400 },
    { path: '/api/v1/video/generations', headers: json, status: 401 },
    { path: '/api/v1/video/generations', headers: key + json, status: 413 },
    { path: '/nowhere', headers: '', status: 404 },
  ];
}

test('a client that sends its whole body, also in chunks, before it reads still gets its refusal', async () => {
  const body = Buffer.alloc(8 * MEGABYTE);
  for (const { path, headers, status } of await refusals()) {
    for (const [length, size] of [
      [`Content-Length: ${body.length}`, ''],
      ['Transfer-Encoding: chunked', `${body.length.toString(16)}\r\n`],
    ]) {
      const head = `POST ${path} HTTP/1.1\r\nHost: a\r\n${headers}${length}\r\n\r\n${size}`;
      assert.deepEqual(statusesOf(await sendThenRead(head, body)), [status], path);
    }
  }
});

test('more bytes than the Content-Length says do not cost the request its response', async () => {
  const key = `Authorization: ${await customer.authorization()}\r\n`;
  for (const [path, type, status] of [
    ['/api/v1/uploads', 'image/png', 400],
    ['/api/v1/video/generations', 'application/json', 400],
    ['/nowhere', 'text/plain', 404],
  ] as const) {
    for (const bytes of [10, 2 * MEGABYTE]) {
      const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: ${type}\r\n${key}`;
      const more = Buffer.alloc(bytes, '{');
      const received = await sendThenRead(`${head}Content-Length: 4\r\n\r\n`, more);
      const [first, ...others] = statusesOf(received);
      assert.equal(first, status, received);
      assert.ok(others.length === 0 || others[0] === 400, 'the rest is no request');
    }
  }
});

/** A server that refuses each request without reading its body, and a client that never ends. */
async function openServer(t: TestContext, bounds: { bytes: number; seconds: number }) {
  const lingering = createLingeringClose(bounds);
  const server = createServer(({ socket }, response) => {
    socket.destroySoon = () => lingering.close(socket);
    response.writeHead(413, { connection: 'close' }).end('refused');
  }).listen(0);
  await once(server, 'listening');
  t.after(() => server.close().closeAllConnections());
  const { port } = server.address() as { port: number };
  const begin = () => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => {});
    socket.write(`PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: ${2 ** 40}\r\n\r\n`);
    return socket;
  };
  return { lingering, begin };
}

/** Resolves when it is closed, also by a reset. */
const closed = (socket: Socket) => new Promise((resolve) => socket.once('close', resolve));

async function refused(socket: Socket): Promise<void> {
  const [bytes] = await once(socket, 'data');
  assert.match(String(bytes), /^HTTP\/1\.1 413/);
}

test('a client that sends on slowly after its response is cut off when its time is over', async (t) => {
  const { begin } = await openServer(t, { bytes: MEGABYTE, seconds: 0.2 });
  const socket = begin();
  await refused(socket);
  const sending = setInterval(() => socket.write('x'), 20);
  t.after(() => clearInterval(sending));
  await closed(socket);
  assert.ok(socket.bytesWritten < MEGABYTE);
});

test('a client that sends on fast after its response is cut off after the bytes allowed', async (t) => {
  const { begin } = await openServer(t, { bytes: 4 * MEGABYTE, seconds: 600 });
  const socket = begin();
  await refused(socket);
  const part = Buffer.alloc(MEGABYTE);
  const send = () => socket.write(part, (error) => error ?? send());
  send();
  await closed(socket);
  assert.ok(socket.bytesWritten > 4 * MEGABYTE);
});

test('connections that only linger are closed at once when the server stops', async (t) => {
  const { begin, lingering } = await openServer(t, { bytes: MEGABYTE, seconds: 600 });
  const socket = begin();
  await refused(socket);
  await once(socket, 'end');
  lingering.stop();
  await closed(socket.end());
});

test('a body must arrive within the time of its route', async (t) => {
  const app = fastify();
  t.after(() => app.close());
  limitBodyTime(app, (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  const handler = async () => 'received';
  app.post('/short', { config: { bodySeconds: 0.05 } }, handler);
  app.post('/long', handler);
  app.get('/waits', () => new Promise(() => {}));
  await app.listen({ host: '127.0.0.1', port: 0 });
  const [address] = app.addresses();
  if (typeof address !== 'object') throw new Error('it does not listen');
  const begin = (path: string, before = '') => {
    const socket = connect(address.port, '127.0.0.1');
    const head = 'Host: a\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close';
    socket.write(`${before}POST ${path} HTTP/1.1\r\n${head}\r\n\r\na`);
    return socket;
  };
  const long = begin('/long');
  assert.match(await text(begin('/short')), /^HTTP\/1.1 400/);
  // Here the client would take the 400 for the response of the GET.
  assert.equal(await text(begin('/short', 'GET /waits HTTP/1.1\r\nHost: a\r\n\r\n')), '');
  long.write('b');
  assert.match(await text(long), /received$/);
});
