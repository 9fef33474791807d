import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fastify } from 'fastify';
import { limitBodyTime } from './body-time.ts';

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
