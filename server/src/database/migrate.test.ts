import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { test } from 'node:test';
import { createTestDatabase } from '../../test/database.ts';
import { sql } from '../../test/task-fixtures.ts';
import { migrate } from './migrate.ts';

test('each migration runs once and in order when several processes start at once', async (t) => {
  const database = await createTestDatabase();
  t.after(() => database.close());
  const { db, url } = database;
  const files = (await readdir(new URL('../../migrations/', import.meta.url))).sort();
  assert.deepEqual(await migrate(url), [], 'a database that is up to date does not change');
  await sql(db, 'drop schema public cascade');
  await sql(db, 'create schema public');
  const runs = await Promise.all([migrate(url), migrate(url), migrate(url)]);
  assert.deepEqual(
    runs.filter((ran) => ran.length > 0),
    [files],
  );
  const recorded = await sql<{ name: string }>(db, 'select name from migrations order by ran_at');
  assert.deepEqual(
    recorded.map(({ name }) => name),
    files,
  );
  await sql(db, 'select 1 from ledger_transfers');
});

test('migrations are numbered without gaps', async () => {
  const files = (await readdir(new URL('../../migrations/', import.meta.url))).sort();
  for (const [index, name] of files.entries()) {
    assert.match(name, new RegExp(`^${String(index + 1).padStart(4, '0')}_[a-z_]+\\.sql$`));
  }
});

test('a failed migration is rolled back, and runs again after its cause is removed', async (t) => {
  const database = await createTestDatabase();
  t.after(() => database.close());
  const { db, url } = database;
  await sql(db, 'drop schema public cascade');
  await sql(db, 'create schema public');
  await sql(db, 'create table api_keys (in_the_way int)');
  await assert.rejects(migrate(url), /migration 0002_accounts\.sql failed/);
  const there = await sql(db, `select 1 from pg_tables where tablename = 'accounts'`);
  assert.deepEqual(there, []);
  await sql(db, 'drop table api_keys');
  assert.ok((await migrate(url)).includes('0002_accounts.sql'));
});
