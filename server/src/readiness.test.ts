import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestDatabase, quiet } from '../test/database.ts';
import { recordingLog } from '../test/recording-log.ts';
import { sql } from '../test/task-fixtures.ts';
import { openDatabase } from './database/database.ts';
import { isReady } from './readiness.ts';

test('a lock on a table of a create makes a process not ready, and the log names its holder', async () => {
  const database = await openTestDatabase();
  const { db } = database;
  for (const table of ['tasks', 'ledger_transfers']) {
    const { log, lines } = recordingLog();
    assert.equal(await isReady({ db, log }), true);
    await db.transaction(async (tx) => {
      const [own] = await sql<{ pid: number }>(tx, 'select pg_backend_pid() as pid');
      await sql(tx, `lock table ${table}`);
      assert.equal(await isReady({ db, log }), false, table);
      const [line = ''] = lines;
      const { pid, locks } = JSON.parse(line);
      assert.equal(pid, own?.pid);
      assert.match(locks, new RegExp(`${table} AccessExclusiveLock`));
    });
  }
});

test('a schema that the database puts before public is not used', async () => {
  const database = await openTestDatabase();
  const name = new URL(database.url).pathname.slice(1);
  await sql(
    database.db,
    `create schema foreign_first; create table foreign_first.tasks (id text);
     alter database ${name} set search_path = foreign_first, public`,
  );
  const db = openDatabase({ url: database.url, connections: 2, log: quiet });
  assert.deepEqual(await sql(db, 'select phase from tasks'), []);
  assert.equal(await isReady({ db, log: quiet }), true);
  await db.close();
  const options = encodeURIComponent('-c search_path=foreign_first,public');
  const own = openDatabase({
    url: `${database.url}?options=${options}`,
    connections: 2,
    log: quiet,
  });
  assert.equal(await isReady({ db: own, log: quiet }), false, 'the address has its own path');
  await own.close();
});
