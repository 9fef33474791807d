import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { beforeEach, test } from 'node:test';
import pg from 'pg';
import { mountSmallDisk } from '../../test/crash/small-disk.ts';
import { openTestDatabase, quiet } from '../../test/database.ts';
import { makeTask, openTaskFixture, sql } from '../../test/task-fixtures.ts';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { hasTasks } from '../tasks/task-listing.ts';
import type { Database } from './database.ts';
import { advanceMark, endRecovery, followDatabaseMark, type Mark, readLineage } from './lineage.ts';

const fixture = await openTaskFixture();
const { db } = fixture;
await makeTask(fixture);
beforeEach(async () => {
  await sql(db, 'delete from recoveries');
  await sql(db, 'delete from database_marks');
  await sql(db, 'insert into database_marks default values');
});

async function advance(known?: Mark, trustsPromotion = false): Promise<Mark> {
  const result = await advanceMark(db, known, { trustsPromotion, hasTasks });
  assert.ok('mark' in result, JSON.stringify(result));
  return result.mark;
}

async function causeOf(known?: Mark, trustsPromotion = false): Promise<string | undefined> {
  const result = await advanceMark(db, known, { trustsPromotion, hasTasks });
  assert.ok('recovering' in result);
  return result.cause;
}

const end = async () => {
  const lineage = await readLineage(db);
  await db.transaction((tx) => endRecovery(tx, lineage));
};

test('this server tells its lineage', async () => {
  const { systemIdentifier, timeline, tableOid } = await readLineage(db);
  assert.match(systemIdentifier ?? '', /^\d+$/);
  assert.match(timeline ?? '', /^[0-9A-F]{8}$/);
  assert.match(tableOid ?? '', /^\d+$/);
});

test('a mark grows with each call, also of processes that remember none or an older one', async () => {
  const first = await advance();
  const second = await advance(first);
  assert.deepEqual(second, { epoch: first.epoch, beat: first.beat + 1 });
  assert.equal((await advance(first)).beat, second.beat + 1);
  assert.equal((await advance()).beat, second.beat + 2);
});

test('a database that is older than a process remembers is in recovery until an operator ends it', async () => {
  const mark = await advance();
  const later = { ...mark, beat: mark.beat + 1 };
  assert.match((await causeOf(later)) ?? '', /older than a worker remembers/);
  assert.equal(await causeOf(mark), undefined, 'for all processes');
  await end();
  const next = await advance(later);
  assert.notEqual(next.epoch, later.epoch);
  await advance(later); // a process that has not seen the new epoch
  await sql(db, 'update database_marks set epoch = gen_random_uuid()');
  assert.match((await causeOf(next)) ?? '', /older than a worker remembers/);
});

test('a new database is not in recovery, whatever the data folder remembers of another one', async () => {
  const known = { epoch: crypto.randomUUID(), beat: 1000 };
  const other = await openTestDatabase();
  assert.ok('mark' in (await advanceMark(other.db, known, { trustsPromotion: false, hasTasks })));
  assert.match((await causeOf(known)) ?? '', /older than a worker remembers/, 'this one has tasks');
});

test('another server, a dump and a promotion begin a recovery', async () => {
  for (const [column, cause] of [
    ['system_identifier', /another server/],
    ['table_oid', /dump/],
    ['timeline', /promoted/],
  ] as const) {
    for (const remembers of [false, true]) {
      const mark = await advance();
      await sql(db, `update database_marks set ${column} = 'other'`);
      assert.match((await causeOf(remembers ? mark : undefined)) ?? '', cause);
      await end();
    }
  }
});

test('a promotion changes nothing where replicas are synchronous', async () => {
  const mark = await advance();
  await sql(db, `update database_marks set timeline = 'other'`);
  const next = await advance(mark, true);
  assert.deepEqual(await advance(next), { ...next, beat: next.beat + 1 }, 'it is the new timeline');
});

test('a server that forbids one value still tells the others', async () => {
  const forbids = (text: string) => text.includes('pg_control_system');
  const refused = new pg.DatabaseError('permission denied', 0, 'error');
  const query: Database['query'] = async (statement, values) => {
    if (forbids(statement.text)) throw refused;
    return db.query(statement, values);
  };
  const { timeline } = await readLineage(db);
  const told = await readLineage({ ...db, query });
  assert.equal(told.systemIdentifier, null);
  assert.equal(told.timeline, timeline);
});

/** Compares and remembers the mark, like a process that has just started. */
function rememberIn(dataDir: string): Promise<void> {
  return followDatabaseMark({ db, log: quiet, dataDir, trustsPromotion: false, hasTasks })();
}

test('a worker starts on a full disk, which keeps the older mark', async (t) => {
  await using folder = await temporaryFolder();
  await using disk = await mountSmallDisk(`${folder.path}/disk`, 2 ** 20);
  if (disk.excuse !== undefined) return t.skip(disk.excuse);
  const file = `${disk.path}/database-mark.json`;
  await rememberIn(disk.path);
  const older = await readFile(file, 'utf8');
  const freeDisk = await disk.fill();
  await rememberIn(disk.path);
  assert.equal(await readFile(file, 'utf8'), older);
  await freeDisk();
  await rememberIn(disk.path);
  assert.notEqual(await readFile(file, 'utf8'), older);
});

test('the mark in a data folder outlives the process', async () => {
  await using folder = await temporaryFolder();
  const remember = () => rememberIn(folder.path);
  const recoveries = () => sql(db, 'select cause from recoveries where ended_at is null');
  await remember();
  await remember();
  assert.deepEqual(await recoveries(), []);
  await sql(db, 'update database_marks set beat = beat - 1');
  await remember();
  assert.equal((await recoveries()).length, 1);
  await end();
  await writeFile(`${folder.path}/database-mark.json`, '{"epoch":');
  await remember();
  assert.deepEqual(await recoveries(), []);
});
