import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertError } from '../../test/envelope.ts';
import { openTestWebsite } from '../../test/website/website.ts';
import { API_PREFIX, ENDPOINTS } from './public/public-api.ts';

const website = await openTestWebsite();
after(() => website.close());

test('every limit of a list is an integer from 1 to 100, with the same words', async () => {
  const visitor = await website.signIn();
  const customer = await website.customer(0);
  const ofApi = ENDPOINTS.map(({ description: { url, schema } }) => {
    return { url: API_PREFIX + url, schema, by: customer };
  });
  const ofSite = website.routes.map(({ url, schema }) => ({ url, schema, by: visitor }));
  let lists = 0;
  for (const { url, schema, by } of [...ofApi, ...ofSite]) {
    if (!Object(schema?.querystring).properties?.limit) continue;
    lists += 1;
    for (const [given, reason, words] of [
      ['0', 'too_small', 'limit must be >= 1.'],
      ['101', 'too_large', 'limit must be <= 100.'],
      ['1.5', 'wrong_type', 'limit must be integer.'],
      ['1e2', 'wrong_type', 'limit must be integer.'],
      [' 5', 'wrong_type', 'limit must be integer.'],
      ['', 'wrong_type', 'limit must be integer.'],
    ] as const) {
      const path = `${url.replace(':id', 'abc')}?limit=${encodeURIComponent(given)}`;
      const response = await by.send({ method: 'GET', url: path });
      assertError(response, 'invalid_request', { field: 'limit', reason });
      assert.equal(response.body.error.message, words, path);
    }
  }
  assert.ok(lists >= 6, `${lists} routes`);
});
