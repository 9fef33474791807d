import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, type TestCustomer } from '../../../test/app.ts';
import { assertError } from '../../../test/envelope.ts';

const api = await openTestApp();
const customer = await api.customer(1000);

const URL_OF_RECEIVER = 'https://example.com/hook';
const PATH = '/api/v1/webhooks';

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

function call(method: Method, path = '', body?: object, by: TestCustomer = customer) {
  return by.send({ method, url: `${PATH}${path}`, ...(body && { body }) });
}

async function create(body: object = {}) {
  return call('POST', '', { url: URL_OF_RECEIVER, events: ['task.completed'], ...body });
}

test('an endpoint may have no address', async () => {
  const made = await create({ url: undefined });
  assert.deepEqual([made.status, made.body.url], [201, null]);
  const moved = await call('PATCH', `/${made.body.id}`, { url: URL_OF_RECEIVER });
  assert.equal(moved.body.url, URL_OF_RECEIVER);
});

test('another account sees nothing of an endpoint and changes nothing', async () => {
  const { id } = (await create()).body;
  const other = await api.customer(10);
  for (const [method, path, body] of [
    ['GET', `/${id}`],
    ['PATCH', `/${id}`, { enabled: false }],
    ['DELETE', `/${id}`],
    ['POST', `/${id}/secret`],
    ['POST', `/${id}/test`],
    ['GET', `/${id}/deliveries`],
    ['POST', `/${id}/deliveries/evt_1/send`],
  ] as const) {
    assertError(await call(method, path, body, other), 'not_found');
  }
  assert.deepEqual((await call('GET', '', undefined, other)).body.data, []);
});

test('an address that may not be called, a wrong event and an empty change get 400', async () => {
  for (const [body, field] of [
    [{ url: 'http://example.com/hook' }, 'url'],
    [{ url: 'https://127.0.0.1/hook' }, 'url'],
    [{ url: 'https://ada:secret@example.com/' }, 'url'],
    [{ url: 'https://intranet/hook' }, 'url'],
    [{ url: 'not a url' }, 'url'],
    [{ url: 'https://example.com:22/' }, 'url'],
    [{ url: 'https://example.com:1023/' }, 'url'],
    [{ events: [] }, 'events'],
    [{ events: ['task.other'] }, 'events'],
    [{ description: 'two\nlines' }, 'description'],
    [{ description: '\u0000' }, 'description'],
    [{ description: 'a\u0085' }, 'description'],
    [{ more: 1 }, 'more'],
  ] as const) {
    assertError(await create(body), 'invalid_request', { field: field });
  }
  const { id } = (await create({ url: 'https://example.com:1024/' })).body;
  const refused = await call('PATCH', `/${id}`, { url: 'https://example.com:25/' });
  assertError(refused, 'invalid_request', { field: 'url', reason: 'port_not_allowed' });
  const words = 'url: The port 25 is not allowed, only 443, 1024 to 65535.';
  assert.equal(refused.body.error.message, words);
  assertError(await call('PATCH', `/${id}`, {}), 'invalid_request');
  assertError(await call('GET', `/${id}/deliveries?limit=0`), 'invalid_request');
});
