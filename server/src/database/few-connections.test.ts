import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestDatabase } from '../../test/database.ts';
import { statement } from './database.ts';
import { fewConnections } from './few-connections.ts';

const SESSIONS = statement(
  'test_sessions',
  `select count(*)::int as sessions from pg_stat_activity
   where datname = current_database() and backend_type = 'client backend'`,
);

const database = await openTestDatabase();

test('work at the same time opens at most the allowed connections, and all of it is done', async () => {
  const few = fewConnections(database.db, 2);
  const sessions = () => few.query<{ sessions: number }>(SESSIONS);
  const inTransaction = () => few.transaction((tx) => tx.query<{ sessions: number }>(SESSIONS));
  const work = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? sessions() : inTransaction()));
  const results = (await Promise.all(work)).flat().map((row) => row.sessions);
  assert.equal(results.length, 20);
  assert.equal(Math.max(...results), 2);
});

test('work that fails gives its connection back', async () => {
  const few = fewConnections(database.db, 1);
  await assert.rejects(few.query(statement('', 'select 1 / 0')), /division by zero/);
  const failing = few.transaction(() => Promise.reject(new Error('of the work')));
  await assert.rejects(failing, /of the work/);
  assert.equal((await few.query(SESSIONS)).length, 1);
});
