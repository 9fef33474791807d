import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFairSemaphore, type Release } from './fair-semaphore.ts';

/** Acquires for each key in turn and records the order in which the permits are given. */
function recorder(permits: number, permitsPerKey?: number) {
  const semaphore = createFairSemaphore(permits, permitsPerKey);
  const begun: string[] = [];
  const releases = new Map<string, Release>();
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return {
    semaphore,
    begun,
    async ask(...names: string[]) {
      for (const name of names) {
        void semaphore.acquire(name.slice(0, 1), undefined).then((release) => {
          begun.push(name);
          releases.set(name, release);
        });
      }
      await settled();
    },
    async end(name: string) {
      releases.get(name)?.();
      await settled();
    },
  };
}

test('keys take turns, and the work of one key keeps its order', async () => {
  const { ask, end, begun } = recorder(1);
  await ask('a1', 'a2', 'a3', 'b1', 'b2', 'c1');
  for (const name of ['a1', 'a2', 'b1', 'c1', 'a3']) await end(name);
  assert.deepEqual(begun, ['a1', 'a2', 'b1', 'c1', 'a3', 'b2']);
});

test('a permit goes to the key that holds the fewest', async () => {
  const { ask, end, begun } = recorder(2);
  await ask('a1', 'a2', 'a3', 'a4', 'b1');
  await end('a2');
  assert.deepEqual(begun, ['a1', 'a2', 'b1']);
});

test('a key has at most its own number of permits, whatever is free', async () => {
  const { ask, end, begun, semaphore } = recorder(3, 2);
  await ask('a1', 'a2', 'a3');
  assert.deepEqual(begun, ['a1', 'a2']);
  assert.equal(semaphore.tryAcquire('a'), null);
  await ask('b1');
  assert.deepEqual(begun, ['a1', 'a2', 'b1']);
  await end('b1');
  assert.deepEqual(begun, ['a1', 'a2', 'b1'], 'the permit of b stays free');
  await end('a1');
  assert.deepEqual(begun, ['a1', 'a2', 'b1', 'a3']);
});

test('an aborted waiter takes no permit, and a permit is given back only once', async () => {
  const semaphore = createFairSemaphore(1);
  const release = await semaphore.acquire('a', undefined);
  const leaving = new AbortController();
  const left = semaphore.acquire('b', leaving.signal);
  assert.ok(semaphore.isAwaitedByOthers('a'));
  leaving.abort(new Error('left'));
  await assert.rejects(left, /left/);
  assert.ok(!semaphore.isAwaitedByOthers('a'));
  release();
  release();
  assert.ok(semaphore.tryAcquire('a'));
  assert.equal(semaphore.tryAcquire('b'), null);
});

test('failed work frees its permit', async () => {
  const semaphore = createFairSemaphore(1);
  const failed = semaphore.run('key', undefined, async () => Promise.reject(new Error('failed')));
  await assert.rejects(failed, /failed/);
  assert.equal(await semaphore.run('key', undefined, async () => 'next'), 'next');
});
