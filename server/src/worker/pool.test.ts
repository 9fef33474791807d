import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quiet } from '../../test/database.ts';
import { until } from '../../test/until.ts';
import type { Task } from '../tasks/task.ts';
import { createPool } from './pool.ts';

/** A pool of two slots whose work ends when the test says so. */
function openPool(due: string[] = [], monotonic = () => 0) {
  const stopping = new AbortController();
  const ends = new Map<string, () => void>();
  const claims: number[] = [];
  const givenBack: string[] = [];
  let mostAtOnce = 0;
  const pool = createPool({
    name: 'test',
    slots: 2,
    log: quiet,
    stopping: stopping.signal,
    monotonic,
    async claim(slots) {
      claims.push(slots);
      await new Promise(setImmediate);
      return due.splice(0, slots).map(taskOf);
    },
    work: ({ id }) =>
      new Promise<void>((resolve) => {
        if (stopping.signal.aborted) {
          givenBack.push(id);
          return resolve();
        }
        ends.set(id, () => {
          ends.delete(id);
          resolve();
        });
        mostAtOnce = Math.max(mostAtOnce, ends.size);
      }),
  });
  return {
    pool,
    claims,
    ends,
    givenBack,
    mostAtOnce: () => mostAtOnce,
    begun: (id: string) => until(async () => ends.has(id), Boolean),
    async stop() {
      stopping.abort();
      for (const end of ends.values()) end();
      await pool.finish();
    },
  };
}

function taskOf(id: string): Task {
  return { id } as Task;
}

test('a pool without a free slot claims as soon as one is free, and never too much', async () => {
  const { pool, claims, ends, begun, mostAtOnce, stop } = openPool(['c', 'd', 'e']);
  for (const id of ['a', 'b']) assert.ok(pool.take(taskOf(id)));
  await pool.fill();
  assert.deepEqual(claims, [], 'no slot is free');
  ends.get('a')?.();
  await begun('c');
  assert.deepEqual(claims, [1]);
  ends.get('b')?.();
  ends.get('c')?.();
  await begun('e');
  assert.ok(
    claims.every((slots) => slots <= 2),
    String(claims),
  );
  assert.equal(mostAtOnce(), 2);
  await stop();
});

test('tasks that come while a claim is under way get no slot that it may fill', async () => {
  const { pool, claims, ends, begun, mostAtOnce, stop } = openPool(['c', 'd']);
  const filled = pool.fill();
  for (const id of ['a', 'b']) assert.ok(pool.take(taskOf(id)));
  await filled;
  assert.deepEqual([...ends.keys()], ['c', 'd']);
  ends.get('c')?.();
  ends.get('d')?.();
  await begun('a');
  await begun('b');
  assert.equal(mostAtOnce(), 2);
  assert.ok(
    claims.every((slots) => slots > 0),
    String(claims),
  );
  await stop();
});

test('a leased task waits for a slot, in turns with due tasks; too many are refused', async () => {
  const { pool, ends, begun, stop } = openPool(['due 1', 'due 2']);
  const order: string[] = [];
  for (const id of ['a', 'b', 'c', 'd']) assert.ok(pool.take(taskOf(id)), id);
  assert.ok(!pool.take(taskOf('e')), 'two work and two wait, and none has ended');
  await pool.fill(); // finds no free slot
  for (const end of ['a', 'b']) {
    const before = new Set(ends.keys());
    ends.get(end)?.();
    await until(async () => [...ends.keys()].some((id) => !before.has(id)), Boolean);
    order.push(...[...ends.keys()].filter((id) => !before.has(id)));
  }
  assert.deepEqual(order, ['due 1', 'c']);
  ends.get('c')?.();
  await begun('due 2');
  await stop();
});

test('more tasks may wait while slots become free quickly', async () => {
  let milliseconds = 0;
  const { pool, ends, begun, stop } = openPool([], () => milliseconds);
  for (const id of ['a', 'b', 'c', 'd']) assert.ok(pool.take(taskOf(id)));
  for (const [ended, begins] of [
    ['a', 'c'],
    ['b', 'd'],
  ] as const) {
    ends.get(ended)?.();
    await begun(begins);
    milliseconds += 400;
  }
  // Two tasks ended in 800 ms, so the second of those that wait begins within a second.
  for (const id of ['e', 'f', 'g']) assert.ok(pool.take(taskOf(id)), id);
  assert.ok(!pool.take(taskOf('h')), 'it would wait for more than a second');
  await stop();
});

test('tasks that wait for a slot are given back when the process stops', async () => {
  const { pool, givenBack, stop } = openPool();
  for (const id of ['a', 'b', 'c']) assert.ok(pool.take(taskOf(id)));
  const stopped = stop();
  assert.deepEqual(givenBack, ['c'], 'at once, not when a slot is free');
  await stopped;
  assert.ok(!pool.take(taskOf('d')));
});
