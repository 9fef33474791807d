import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestDatabase } from '../../test/database.ts';
import { DatabaseUnavailable, statement, violatedConstraint } from './database.ts';
import { RetryAlone, sharedWork } from './shared-work.ts';

const database = await openTestDatabase();
const { db } = database;
await db.query({ name: '', text: 'create table numbers (n int primary key check (n > 0))' });

const ADD = statement('test_add_all', 'insert into numbers (n) select unnest($1::int[])');

/** Adds numbers; `sizes` gets how many numbers each statement had. */
function adding(sizes: number[] = []) {
  return sharedWork<number, number>({
    keyOf: String,
    async work(on, numbers) {
      sizes.push(numbers.length);
      await on.query(ADD, [numbers]);
      return numbers;
    },
  });
}

test('calls that arrive together share one statement, and each gets its own result', async () => {
  const sizes: number[] = [];
  const add = adding(sizes);
  assert.deepEqual(await Promise.all([1, 2, 3].map((n) => add(db, n))), [1, 2, 3]);
  assert.deepEqual(sizes, [3]);
});

test('an item that Postgres refuses does not fail the others', async () => {
  const add = adding();
  const results = await Promise.allSettled([10, -1, 11, 1].map((n) => add(db, n)));
  assert.deepEqual(
    results.map((result) =>
      result.status === 'fulfilled' ? result.value : violatedConstraint(result.reason),
    ),
    [10, 'numbers_n_check', 11, 'numbers_pkey'],
  );
});

test('an item whose work throws does not fail the others, and nothing is done twice', async () => {
  const add = sharedWork<number, number>({
    keyOf: String,
    work: (on, numbers) =>
      on.transaction(async (tx) => {
        await tx.query(ADD, [numbers]);
        if (numbers.includes(21)) throw new Error('not all rows were changed');
        return numbers;
      }),
  });
  const results = await Promise.allSettled([20, 21, 22].map((n) => add(db, n)));
  const statuses = results.map(({ status }) => status);
  assert.deepEqual(statuses, ['fulfilled', 'rejected', 'fulfilled']);
  const text = 'select n from numbers where n between 20 and 22 order by n';
  const added = await db.query({ name: '', text });
  assert.deepEqual(added, [{ n: 20 }, { n: 22 }]);
});

test('items that can not be done together are done alone', async () => {
  const sizes: number[] = [];
  const work = sharedWork<number, number>({
    keyOf: String,
    async work(_db, numbers) {
      sizes.push(numbers.length);
      if (numbers.length > 1) throw new RetryAlone('not these');
      return numbers;
    },
  });
  assert.deepEqual(await Promise.all([work(db, 1), work(db, 2)]), [1, 2]);
  assert.deepEqual(sizes, [2, 1, 1]);
});

test('work whose result is not known is not done again', async () => {
  let runs = 0;
  const work = sharedWork<number, number>({
    keyOf: String,
    async work() {
      runs += 1;
      throw new DatabaseUnavailable(new Error('the response was lost'));
    },
  });
  const results = await Promise.allSettled([work(db, 1), work(db, 2)]);
  assert.ok(results.every(({ status }) => status === 'rejected'));
  assert.equal(runs, 1);
});
