import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSemaphore } from './semaphore.ts';

test('at most the given number of calls run at a time, and all run in order', async () => {
  const semaphore = createSemaphore(2);
  const begun: number[] = [];
  let atWork = 0;
  const work = (number: number) => async () => {
    begun.push(number);
    atWork += 1;
    assert.ok(atWork <= 2);
    await new Promise((resolve) => setImmediate(resolve));
    atWork -= 1;
  };
  await Promise.all([1, 2, 3, 4, 5].map((number) => semaphore.run(undefined, work(number))));
  assert.deepEqual(begun, [1, 2, 3, 4, 5]);
});

test('failed work frees its permit, and an aborted waiter takes no permit', async () => {
  const semaphore = createSemaphore(1);
  const leaving = new AbortController();
  const failed = semaphore.run(undefined, async () => Promise.reject(new Error('failed')));
  const left = semaphore.run(leaving.signal, async () => 'ran');
  leaving.abort(new Error('left'));
  await assert.rejects(failed, /failed/);
  await assert.rejects(left, /left/);
  assert.equal(await semaphore.run(undefined, async () => 'next'), 'next');
});
