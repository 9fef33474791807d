import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createLingeringClose } from './lingering-close.ts';

const MEGABYTE = 2 ** 20;

/** A server that refuses each request and never reads a body, and a client that ends nothing. */
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
