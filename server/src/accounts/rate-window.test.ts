import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createTestDatabase } from '../../test/database.ts';
import { freezeClock } from '../../test/frozen-clock.ts';
import { sql } from '../../test/task-fixtures.ts';
import { ApiError } from '../kernel/errors.ts';
import { countRequest, openRateMemory } from './rate-window.ts';

const database = await createTestDatabase();
after(() => database.close());

const LIMIT = { max: 3, seconds: 100 };

/** Whether a request passes; a refused one says in how many seconds one will. */
async function count(key: string): Promise<true | number | undefined> {
  try {
    await countRequest(database.db, key, LIMIT);
    return true;
  } catch (error) {
    assert.ok(error instanceof ApiError && error.code === 'rate_limited');
    return error.retryAfterSeconds;
  }
}

test('of many requests at once exactly as many pass as the window takes', async () => {
  const results = await Promise.all(Array.from({ length: 20 }, () => count('burst')));
  assert.equal(results.filter((result) => result === true).length, LIMIT.max);
});

test('a request passes when the time that was told is over, and a refused one adds nothing', async () => {
  for (const seconds of [0, 40, 80]) {
    await database.setClock(seconds);
    assert.equal(await count('slides'), true);
  }
  for (let i = 0; i < 5; i += 1) assert.equal(await count('slides'), 20);
  await database.setClock(99);
  assert.notEqual(await count('slides'), true);
  await database.setClock(101);
  assert.equal(await count('slides'), true);
  assert.equal(await count('slides'), 39);
  await database.setClock(0);
});

test('a full window asks the database once a second, and is open when its time is over', async () => {
  let milliseconds = 0;
  let asked = 0;
  const memory = openRateMemory(() => milliseconds);
  const ask = () =>
    memory.run('remembered', async () => {
      asked += 1;
      return count('remembered').then((passed) => {
        if (passed === true) return true;
        throw new ApiError('rate_limited', 'full', { retryAfterSeconds: passed ?? 1 });
      });
    });
  await freezeClock(database.db, 0);
  const burst = await Promise.allSettled(Array.from({ length: 50 }, ask));
  assert.equal(burst.filter(({ status }) => status === 'fulfilled').length, LIMIT.max);
  assert.equal(asked, LIMIT.max + 1);
  milliseconds = 999;
  await assert.rejects(ask(), { code: 'rate_limited', retryAfterSeconds: 100 });
  assert.equal(asked, LIMIT.max + 1);
  milliseconds = 1000;
  await Promise.allSettled([ask(), ask(), ask()]);
  assert.equal(asked, LIMIT.max + 2);
  await sql(database.db, `delete from request_windows where subject = 'remembered'`);
  milliseconds = 2000;
  assert.deepEqual(await Promise.all([ask(), ask(), ask()]), [true, true, true]);
  await assert.rejects(ask());
  milliseconds = 102_000;
  await freezeClock(database.db, 100);
  assert.equal(await ask(), true);
  await database.setClock(0);
});

test('each key has a window of its own', async () => {
  for (const key of ['ip:a', 'ip:b', 'ip:a /auth/code']) assert.equal(await count(key), true);
});
