import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { openTestApp, parseResponse } from '../../test/app.ts';
import { assertError, type ErrorResponse } from '../../test/envelope.ts';
import { untilBlocked } from '../../test/task-fixtures.ts';

const api = await openTestApp();
const customer = await api.customer(100_000);

/** Sends bytes over a socket, and reads the response until the server closes the connection. */
async function sendRaw(bytes: string): Promise<ErrorResponse> {
  const socket = net.connect(Number(new URL(api.url).port), '127.0.0.1');
  let received = '';
  socket.setEncoding('utf8').on('data', (part) => {
    received += part;
    if (isWhole(received)) socket.end();
  });
  socket.on('error', () => {});
  socket.write(bytes);
  await once(socket, 'close');
  return readResponse(received);
}

function readResponse(received: string): ErrorResponse {
  const [head = '', body = ''] = received.split('\r\n\r\n');
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = lines.map((line) => {
    const [name = '', ...value] = line.split(':');
    return [name.toLowerCase(), value.join(':').trim()];
  });
  const status = Number(statusLine.split(' ')[1]);
  return { status, headers: Object.fromEntries(headers), body: JSON.parse(body || 'null') };
}

function isWhole(received: string): boolean {
  const length = /content-length: (\d+)/i.exec(received)?.[1];
  return received.split('\r\n\r\n')[1]?.length === Number(length);
}

test('bytes that are not an HTTP request get the envelope and a closed connection', async () => {
  const large = 'a'.repeat(20_000);
  for (const bytes of [
    'garbage\r\n\r\n',
    '\u0016\u0003\u0001\u0002',
    'GET /api/v1/credits HTTP/3.9\r\nHost: a\r\n\r\n',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'FOO /api/v1/credits HTTP/1.1\r\nHost: a\r\n\r\n',
    'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n',
    `GET /api/v1/credits HTTP/1.1\r\nHost: a\r\nX-Large: ${large}\r\n\r\n`,
    `GET /${large} HTTP/1.1\r\nHost: a\r\n\r\n`,
    'GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n',
    'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}',
    'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}',
    'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n',
    'GET / HTTP/1.1\r\n\r\n',
  ]) {
    const response = await sendRaw(bytes);
    assertError(response, 'invalid_request', { field: 'request', reason: 'malformed' });
  }
});

test('a request that was refused before its body gets no second response when the body is broken', async () => {
  for (const path of ['/no/such/path', '/callbacks/none']) {
    const socket = net.connect(Number(new URL(api.url).port), '127.0.0.1');
    socket.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n`);
    const received = await text(socket);
    assert.equal(received.split('HTTP/1.1 ').length - 1, 1, received);
    assertError(readResponse(received), 'not_found');
  }
});

test('an unknown expectation, an upgrade and HTTP/1.0 do not change the response', async () => {
  for (const headers of [
    'HTTP/1.1\r\nHost: a\r\nExpect: something',
    'HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket',
    'HTTP/1.0',
  ]) {
    assertError(await sendRaw(`GET /api/v1/credits ${headers}\r\n\r\n`), 'unauthorized');
  }
});

test('an unknown route is 404, with every method and body', async () => {
  const large = 'x'.repeat(2 * 1024 * 1024);
  for (const url of ['/', '/api', '/api/v1', '/api/v2/credits', '/api/v1/credits/', '/nowhere']) {
    assertError(await customer.send({ url }), 'not_found');
    const broken = { url, method: 'POST', payload: '{', headers: { 'content-type': 'text/x' } };
    assertError(await customer.send({ ...broken, method: 'POST' }), 'not_found');
    assertError(await customer.send({ ...broken, method: 'PUT', payload: large }), 'not_found');
  }
});

const ROUTES = {
  '/api/v1/video/generations': ['POST'],
  '/api/v1/tasks/task_1?a=b': ['GET', 'HEAD'],
  '/api/v1/tasks/%zz': ['GET', 'HEAD'],
  '/api/v1/tasks/task_1/output': ['DELETE'],
  '/api/v1/webhooks/we_1': ['DELETE', 'GET', 'HEAD', 'PATCH'],
  '/media/obj_1.mp4': ['GET', 'HEAD'],
  '/api/v1/credits': ['GET', 'HEAD'],
  '/openapi.json': ['GET', 'HEAD'],
  '/healthz': ['GET', 'HEAD'],
};
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'] as const;

test('a method that a path does not have is 405 with Allow, even without an API key', async () => {
  for (const [url, known] of Object.entries(ROUTES)) {
    for (const method of METHODS) {
      if (known.includes(method)) continue;
      const response = await api.app.inject({ url, method });
      assert.equal(response.headers.allow, known.join(', '), url);
      if (method === 'HEAD') assert.equal(response.statusCode, 405);
      else assertError(parseResponse(response), 'method_not_allowed');
    }
  }
});

test('a malformed URL gets the usual checks', async () => {
  for (const id of ['%zz', '%ff', '%', '%e2%82', 'a%00b', '%00', 'a%2Fb', '..%2f..', '']) {
    const url = `/api/v1/tasks/${id}`;
    assertError(parseResponse(await api.app.inject({ url })), 'unauthorized');
    assertError(await customer.send({ url }), 'not_found');
  }
  for (const url of ['/%zz', '//', '/api/v1/credits%', '/api/v1/tasks/a/b', '/;/..']) {
    assertError(await customer.send({ url }), 'not_found');
  }
  const query = await customer.send({ url: '/api/v1/credits?%zz=%ff&a&__proto__=1' });
  assert.equal(query.status, 200);
});

test('every response has its own X-Request-Id, is no-store and is JSON', async () => {
  const ids = new Set<unknown>();
  const urls = ['/api/v1/credits', '/api/v1/tasks/none', '/nowhere', '/openapi.json', '/readyz'];
  for (const url of urls) {
    const headers = { 'x-request-id': 'mine' };
    const response = await customer.send({ url, headers });
    ids.add(response.headers['x-request-id']);
    assert.match(String(response.headers['x-request-id']), /^req_\w+$/);
    assert.equal(response.headers['cache-control'], 'no-store');
    assert.match(String(response.headers['content-type']), /^application\/json/);
  }
  assert.equal(ids.size, urls.length);
});

const CHUNKED = 'Host: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked';

for (const [what, broken, expected] of [
  ['invalid bytes', '}}\r\n\r\n', ['HTTP/1.1 404']],
  ['CONNECT', 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n', ['HTTP/1.1 404']],
  ['a broken body', `POST /api/v1/video/generations HTTP/1.1\r\n${CHUNKED}\r\n\r\nZZ\r\n`, []],
] as const) {
  test(`${what} after a request that still waits never gets a response in its place`, async () => {
    const authorization = `Authorization: ${await customer.authorization()}`;
    const waiting = `GET /api/v1/tasks/task_x HTTP/1.1\r\nHost: a\r\n${authorization}\r\n\r\n`;
    const { db } = api.database;
    const socket = net.connect(Number(new URL(api.url).port), '127.0.0.1');
    const closed = once(socket, 'close');
    let received = '';
    socket.setEncoding('utf8').on('data', (part) => {
      received += part;
    });
    socket.on('error', () => {});
    await db.transaction(async (tx) => {
      await tx.query({ name: '', text: 'lock table tasks in access exclusive mode' });
      socket.write(waiting + broken);
      await untilBlocked(db);
    });
    await closed;
    assert.deepEqual(received.match(/^HTTP\/1\.1 \d+/gm) ?? [], expected);
  });
}

const GOOD = '{"prompt":"a lighthouse at dawn"}';

test('a Content-Encoding is refused, naming the header, unless it is identity', async () => {
  const encoded = gzipSync(GOOD);
  for (const encoding of ['gzip', 'GZIP', 'br', 'identity, gzip', 'x']) {
    const response = await customer.create(encoded, { 'content-encoding': encoding });
    assertError(response, 'invalid_request', {
      field: 'Content-Encoding',
      reason: 'encoded_body',
    });
  }
  for (const encoding of ['identity', 'Identity', '']) {
    const response = await customer.create('{}', { 'content-encoding': encoding });
    assertError(response, 'invalid_request', { field: 'prompt' });
  }
});

test('only application/json is accepted, in any case and with parameters', async () => {
  for (const type of [
    'application/json',
    'APPLICATION/JSON',
    'application/json; charset=utf-8',
    'application/json ;x=y',
  ]) {
    assert.equal((await customer.create(GOOD, { 'content-type': type })).status, 202, type);
  }
  for (const type of [
    'text/plain',
    'application/jsonp',
    'application/vnd.api+json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'text/json',
    ', application/json',
    ';',
    '',
  ]) {
    const details = { field: 'Content-Type', reason: 'not_json' };
    const response = await customer.create(GOOD, { 'content-type': type });
    assertError(response, 'invalid_request', details);
  }
});
