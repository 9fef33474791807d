import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quiet } from '../../test/database.ts';
import { until } from '../../test/until.ts';
import { createPool } from './pool.ts';
import type { Task } from './task.ts';

test('a pool without a free place claims as soon as one is free, and never too much', async () => {
  const stopping = new AbortController();
  const due = ['a', 'b', 'c', 'd', 'e'].map((id) => ({ id }) as Task);
  const ends = new Map<string, () => void>();
  const claims: number[] = [];
  const pool = createPool({
    name: 'test',
    places: 2,
    log: quiet,
    stopping: stopping.signal,
    async claim(places) {
      claims.push(places);
      return due.splice(0, places);
    },
    work: ({ id }) => new Promise<void>((resolve) => ends.set(id, resolve)),
  });
  const taken = due.splice(0, 2);
  for (const task of taken) assert.ok(pool.take(task));
  await pool.fill();
  assert.deepEqual(claims, [], 'no place is free');
  ends.get('a')?.();
  await until(async () => ends.has('c'), Boolean);
  assert.deepEqual(claims, [1]);
  ends.get('b')?.();
  ends.get('c')?.();
  await until(async () => ends.has('e'), Boolean);
  assert.ok(
    claims.every((places) => places <= 2),
    String(claims),
  );
  stopping.abort();
  for (const end of ends.values()) end();
  await pool.finish();
});
