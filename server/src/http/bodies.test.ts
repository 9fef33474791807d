import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { openTestApp } from '../../test/app.ts';
import { assertError } from '../../test/envelope.ts';

const KIB_64 = 64 * 1024;
const PATH = '/api/v1/video/generations';
const GOOD = '{"prompt":"a lighthouse at dawn"}';

const api = await openTestApp();
const customer = await api.customer(100_000);
after(() => api.close());

/** Sends a body over a real connection, either with a Content-Length or in chunks. */
async function post(body: string, { chunked = false } = {}) {
  const headers = {
    authorization: await customer.authorization(),
    'content-type': 'application/json',
    'idempotency-key': crypto.randomUUID(),
  };
  const chunks = Readable.toWeb(
    Readable.from([body.slice(0, 9), body.slice(9)], { objectMode: true }),
  );
  const sent = chunked
    ? { body: chunks.pipeThrough(new TextEncoderStream()), duplex: 'half' as const }
    : { body };
  const response = await fetch(api.url + PATH, { method: 'POST', headers, ...sent });
  const { status } = response;
  return { status, headers: Object.fromEntries(response.headers), body: await response.json() };
}

test('a body with a Content-Encoding is refused by name, and identity is none', async () => {
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

test('a body of 64 KiB is read, a larger one is 413, both with a length and in chunks', async () => {
  for (const chunked of [false, true]) {
    const accepted = await post(GOOD.padEnd(KIB_64), { chunked });
    assert.equal(accepted.status, 202, JSON.stringify(accepted.body));
    assertError(await post(GOOD.padEnd(KIB_64 + 1), { chunked }), 'payload_too_large');
  }
});

test('the 64 KiB are bytes, not characters', async () => {
  const prompt = '😀'.repeat(4000);
  const body = JSON.stringify({ prompt });
  const padded = body + ' '.repeat(KIB_64 - Buffer.byteLength(body));
  assert.equal((await post(padded)).status, 202);
  assertError(await post(`${padded} `), 'payload_too_large');
});

test('a body of many megabytes is 413, and the client can read the response', async () => {
  assertError(await post(GOOD.padEnd(8 * 1024 * 1024)), 'payload_too_large');
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

test('a create without a body or a content type is 400', async () => {
  const bare = { method: 'POST', url: PATH } as const;
  assertError(await customer.send(bare), 'invalid_request', { field: 'Content-Type' });
  const headers = { 'content-type': 'application/json', 'idempotency-key': 'a' };
  const empty = await customer.send({ ...bare, headers });
  assertError(empty, 'invalid_request', { field: 'body', reason: 'not_json' });
  const untyped = await customer.send({ ...bare, payload: Buffer.from(GOOD) });
  assertError(untyped, 'invalid_request', { field: 'Content-Type' });
});

test('the body of a GET is ignored, even if it is invalid or too large', async () => {
  for (const [url, status] of [
    ['/api/v1/credits', 200],
    ['/api/v1/tasks/none', 404],
  ] as const) {
    const headers = { 'content-type': 'text/plain' };
    const payload = 'x'.repeat(KIB_64 + 1);
    assert.equal((await customer.send({ url, headers, payload })).status, status);
  }
});
