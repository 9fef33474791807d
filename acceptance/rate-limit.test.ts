import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertCommonHeaders, assertError } from './assertions.ts';
import { rateKey, sendOnce } from './deployment.ts';

test('at most 30 requests of a key pass in 60 seconds, and a 429 says when to retry', async () => {
  const startedAt = performance.now();
  const burst = Array.from({ length: 40 }, () => sendOnce('/credits', { key: rateKey }));
  const responses = await Promise.all(burst);
  const passed = responses.filter((response) => response.status === 200);
  const refused = responses.filter((response) => response.status === 429);
  const tookSeconds = (performance.now() - startedAt) / 1000;
  assert.equal(passed.length + refused.length, 40);
  assert.ok(passed.length <= 30, `${passed.length} passed`);
  for (const response of passed) {
    assertCommonHeaders(response);
    assert.deepEqual(Object.keys(response.body).sort(), ['available_credits', 'balance_type']);
  }
  for (const response of refused) assertError(response, 'rate_limited');
  const waits = refused.map((response) => Number(response.headers.get('retry-after')));
  const longestSeconds = Math.max(...waits);
  assert.ok(longestSeconds <= 60, `Retry-After: ${longestSeconds}`);
  const windowIsOurs = 60 - longestSeconds <= Math.ceil(tookSeconds); // the key was unused before
  if (windowIsOurs) assert.equal(passed.length, 30);
});
