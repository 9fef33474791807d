import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertCommonHeaders, assertError } from './answers.ts';
import { askOnce, rateKey } from './deployment.ts';

test('no more than 30 requests of a key pass in 60 seconds, and a 429 says when to come back', async () => {
  const startedAt = performance.now();
  const burst = Array.from({ length: 40 }, () => askOnce('/credits', { key: rateKey }));
  const answers = await Promise.all(burst);
  const passed = answers.filter((answer) => answer.status === 200);
  const refused = answers.filter((answer) => answer.status === 429);
  const tookSeconds = (performance.now() - startedAt) / 1000;
  assert.equal(passed.length + refused.length, 40);
  assert.ok(passed.length <= 30, `${passed.length} passed`);
  for (const answer of passed) {
    assertCommonHeaders(answer);
    assert.deepEqual(Object.keys(answer.body).sort(), ['available_credits', 'balance_type']);
  }
  for (const answer of refused) assertError(answer, 'rate_limited');
  const waits = refused.map((answer) => Number(answer.headers.get('retry-after')));
  const longestSeconds = Math.max(...waits);
  assert.ok(longestSeconds <= 60, `Retry-After: ${longestSeconds}`);
  const windowIsOurs = 60 - longestSeconds <= Math.ceil(tookSeconds); // the key was at rest before
  if (windowIsOurs) assert.equal(passed.length, 30);
});
