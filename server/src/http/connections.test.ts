import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import net from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { openTestApp, type TestApp, type TestCustomer } from '../../test/app.ts';

const MEGABYTE = 2 ** 20;

let api: TestApp;
let customer: TestCustomer;
before(async () => {
  api = await openTestApp();
  customer = await api.customer(1000);
});
after(() => api.close());

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

test('a client that sends its whole body before it reads gets why it was refused', async () => {
  const body = Buffer.alloc(8 * MEGABYTE);
  for (const { path, headers, status } of await refusals()) {
    const head = `POST ${path} HTTP/1.1\r\nHost: a\r\n${headers}`;
    const received = await sendThenRead(`${head}Content-Length: ${body.length}\r\n\r\n`, body);
    assert.deepEqual(statusesOf(received), [status], path);
  }
});

test('a client that sends its body in chunks before it reads gets why it was refused', async () => {
  const part = Buffer.alloc(8 * MEGABYTE);
  for (const { path, headers, status } of await refusals()) {
    const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n${headers}\r\n`;
    const received = await sendThenRead(head, `${part.length.toString(16)}\r\n`, part);
    assert.deepEqual(statusesOf(received), [status], path);
  }
});

test('the client of Node gets why its upload was refused', async () => {
  const body = Buffer.alloc(8 * MEGABYTE);
  for (let i = 0; i < 4; i++) {
    const headers = { 'content-type': 'image/png', 'content-length': body.length };
    const sent = httpRequest(`${api.url}/api/v1/uploads`, { method: 'POST', headers }).end(body);
    const [response] = await once(sent, 'response');
    assert.equal(response.statusCode, 401);
    assert.match(await text(response), /unauthorized/);
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
