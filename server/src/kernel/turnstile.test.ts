import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTurnstile } from './turnstile.ts';

test('no more than the given number are at work, and all get their turn in order', async () => {
  const turnstile = createTurnstile(2);
  const begun: number[] = [];
  let atWork = 0;
  const work = (number: number) => async () => {
    begun.push(number);
    atWork += 1;
    assert.ok(atWork <= 2);
    await new Promise((resolve) => setImmediate(resolve));
    atWork -= 1;
  };
  await Promise.all([1, 2, 3, 4, 5].map((number) => turnstile.pass(undefined, work(number))));
  assert.deepEqual(begun, [1, 2, 3, 4, 5]);
});

test('work that fails and waiters that leave free their place', async () => {
  const turnstile = createTurnstile(1);
  const leaving = new AbortController();
  const failed = turnstile.pass(undefined, async () => Promise.reject(new Error('failed')));
  const left = turnstile.pass(leaving.signal, async () => 'ran');
  leaving.abort(new Error('left'));
  await assert.rejects(failed, /failed/);
  await assert.rejects(left, /left/);
  assert.equal(await turnstile.pass(undefined, async () => 'next'), 'next');
});
