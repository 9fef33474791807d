import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assertCommonHeaders, assertError, assertVideoTask } from './assertions.ts';
import { type ApiResponse, send, sendOnce } from './deployment.ts';
import { call, createTest, inTestMode, movements, testKey, waitForEnd } from './test-mode.ts';

// Each word that decides what becomes of a test task (docs/customers/test-keys.md).

interface Ended {
  status: 'completed' | 'failed';
  code?: string;
}

const COMPLETED: Ended = { status: 'completed' };
const failed = (code: string): Ended => ({ status: 'failed', code });

/** A task has ended as expected, with the movements of its credits. */
async function assertEnded(id: string, key: string, expected: Ended): Promise<void> {
  const task = await waitForEnd(id, key);
  assertVideoTask(task);
  const { status, error } = task.body;
  assert.deepEqual({ status, ...(error && { code: error.code }) }, expected);
  const end = status === 'completed' ? 'capture' : 'refund';
  assert.deepEqual(await movements(id, key), ['reserve', end]);
}

/** An error of a create with a test key; returns its details. */
function detailsOf(response: ApiResponse, code: string, charged: string, retry: string) {
  assertError(response, code);
  const { details } = response.body.error;
  assert.deepEqual(
    { test: details.test, charged: details.charged, retry: details.retry },
    { test: true, charged, retry },
  );
  return details;
}

test('a refill sets the test credits to 100,000', inTestMode, async () => {
  const key = testKey(0);
  const refilled = await call('POST', '/test-credits', { key });
  assertCommonHeaders(refilled);
  assert.deepEqual(refilled.body, { available_credits: 100_000, balance_type: 'paid' });
  const { available_credits: left } = (await send('/credits', { key })).body;
  assert.ok(left > 90_000 && left <= 100_000, `${left}`); // other tests spend meanwhile
});

test('a live key has no test credits, and sees no test task', inTestMode, async () => {
  const live = await send('/test-credits', { method: 'POST' });
  assertError(live, 'invalid_request');
  assert.equal(live.body.error.details.reason, 'live_key');
  const { id } = (await createTest('', { key: testKey(0) })).body;
  assertError(await send(`/tasks/${id}`), 'not_found');
});

describe('what becomes of a test task', { ...inTestMode, concurrency: true }, () => {
  const accepted: [string, Ended][] = [
    ['', COMPLETED],
    ['test-completed', COMPLETED],
    ['test-slow', COMPLETED],
    ['test-failed', failed('provider_failed')],
  ];
  for (const [word, expected] of accepted) {
    test(`${word || 'without a word'}: 202, then ${expected.status}`, async () => {
      const key = testKey(1);
      const created = await createTest(word, { key });
      assert.equal(created.status, 202, JSON.stringify(created.body));
      assertVideoTask(created);
      await assertEnded(created.body.id, key, expected);
    });
  }

  for (const [word, code] of [
    ['test-refused', 'content_refused'],
    ['test-media-unreachable', 'invalid_media'],
  ] as const) {
    test(`${word}: 400, refunded`, async () => {
      const key = testKey(2);
      const response = await createTest(word, { key });
      const details = detailsOf(response, 'invalid_request', 'refunded', 'new_key');
      await assertEnded(details.task_id, key, failed(code));
    });
  }

  test('test-busy: 503, refunded, and the Idempotency-Key can be used again', async () => {
    const key = testKey(2);
    const headers = { 'idempotency-key': crypto.randomUUID() };
    const ids: string[] = [];
    for (const _ of [1, 2]) {
      const busy = await createTest('test-busy', { key, headers });
      assert.match(busy.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
      const { credits, task_id } = detailsOf(busy, 'service_busy', 'refunded', 'same_key');
      assert.equal(credits, 'refunded');
      ids.push(task_id);
    }
    assert.notEqual(ids[0], ids[1]);
    await assertEnded(ids[0] ?? '', key, failed('not_accepted'));
  });

  for (const [word, expected] of [
    ['test-held-accepted', COMPLETED],
    ['test-held-refused', failed('not_accepted')],
  ] as const) {
    test(`${word}: 503, held, then ${expected.status}`, async () => {
      const key = testKey(3);
      const headers = { 'idempotency-key': crypto.randomUUID() };
      const held = await createTest(word, { key, headers });
      const { credits, task_id } = detailsOf(held, 'service_busy', 'reserved', 'same_key');
      assert.equal(credits, 'held');
      const again = await createTest(word, { key, headers });
      assert.deepEqual([again.status, again.body.id], [200, task_id]);
      assert.equal(again.headers.get('idempotent-replayed'), 'true');
      await assertEnded(task_id, key, expected);
    });
  }

  test('test-insufficient-credits: 402, nothing is created', async () => {
    const response = await createTest('test-insufficient-credits', { key: testKey(3) });
    const details = detailsOf(response, 'insufficient_credits', 'no', 'same_key');
    assert.ok(details.required_credits > 0);
  });

  test('test-rate-limited: 429, nothing is created', async () => {
    const response = await sendOnce('/video/generations', {
      key: testKey(3),
      headers: { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() },
      body: JSON.stringify({ prompt: 'a paper boat test-rate-limited' }),
    });
    detailsOf(response, 'rate_limited', 'no', 'same_key');
  });
});
