import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import type { Database } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrate.ts';
import { MIGRATIONS_FOLDER, readMigrations } from '../../src/database/migration/migration-files.ts';
import { balances, settle } from '../../src/ledger/ledger.ts';
import { audit } from '../../src/operator/audit.ts';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { reserve } from '../ledger/reserve.ts';
import { sql } from '../task-fixtures.ts';

/** The last migration of the release before tables, columns and states got their new names. */
const RELEASED = '0008_evidence.sql';

let database: TestDatabase;
let db: Database;
let rowsBefore: Record<string, number>;

before(async () => {
  database = await createTestDatabase();
  db = database.db;
  await makeReleasedDatabase();
  rowsBefore = await countRows();
  const ran = await migrate(database.url);
  const names = (await readMigrations(MIGRATIONS_FOLDER)).map(({ name }) => name);
  assert.deepEqual(ran, names.slice(ran.length * -1));
  assert.equal(ran[0]?.slice(0, 4), '0009');
});
after(() => database.close());

/** Puts the schema of the release and some rows in its own words into the empty database. */
async function makeReleasedDatabase(): Promise<void> {
  await sql(db, 'drop schema public cascade; create schema public');
  await sql(
    db,
    'create table migrations (name text primary key, ran_at timestamptz default now())',
  );
  const files = await readMigrations(MIGRATIONS_FOLDER);
  for (const { name, text } of files.filter((file) => file.name <= RELEASED)) {
    await sql(db, text);
    await sql(db, 'insert into migrations (name) values ($1)', [name]);
  }
  await sql(db, await readFile(new URL('rows-of-0008.sql', import.meta.url), 'utf8'));
}

/** Tables whose names have changed since. */
const RENAMED = new Map([
  ['ledger_accounts', 'ledger_balances'],
  ['objects', 'stored_objects'],
  ['rate_windows', 'request_windows'],
]);

/** Rows by table, under the table's name of today. */
async function countRows(): Promise<Record<string, number>> {
  const tables = await sql<{ name: string }>(
    db,
    `select tablename as name from pg_tables where schemaname = 'public' and tablename <> 'migrations'`,
  );
  const counts: Record<string, number> = {};
  for (const { name } of tables) {
    const [row] = await sql<{ rows: number }>(db, `select count(*) as rows from ${name}`);
    counts[RENAMED.get(name) ?? name] = row?.rows ?? 0;
  }
  return counts;
}

/** The rows of a query as arrays of its columns. */
async function table(text: string): Promise<unknown[][]> {
  return (await sql<Record<string, unknown>>(db, text)).map((row) => Object.values(row));
}

test('no row is lost, every table had some, and the audit finds nothing', async () => {
  const rowsAfter = await countRows(); // of newer tables too
  assert.deepEqual({ ...rowsAfter, ...rowsBefore }, rowsAfter);
  for (const [name, rows] of Object.entries(rowsBefore)) assert.ok(rows > 0, `${name} was empty`);
  assert.deepEqual(await audit(db), { ok: true, problems: [] });
});

/** A contract migration raises it, one release after the last program that uses what it removes. */
const OLDEST_PROGRAM = '0150';

test('older programs may restart on the schema, so that processes can be replaced in turn', async () => {
  const refusing = await table(
    `select name, oldest_program from migrations where oldest_program > '${OLDEST_PROGRAM}'`,
  );
  assert.deepEqual(refusing, []);
});

test('transfers keep their order and sums and say reserve and reserved', async () => {
  const transfers = await table(
    `select reference, reason, source, target, credits, available_after, reserved_after, note
     from ledger_transfers order by id`,
  );
  assert.deepEqual(transfers, [
    ['grant:hold:1', 'grant', 'granted', 'available', 1000, 1000, 0, null],
    ['grant:welcome', 'grant', 'granted', 'available', 50, 50, 0, null],
    ['adjust:1', 'adjust', 'available', 'granted', 10, 990, 0, 'held twice'],
    ['reserve:task_done', 'reserve', 'available', 'reserved', 290, 700, 290, null],
    ['settle:task_done', 'capture', 'reserved', 'spent', 290, 700, 0, null],
    ['reserve:task_failed', 'reserve', 'available', 'reserved', 300, 400, 300, null],
    ['settle:task_failed', 'refund', 'reserved', 'available', 300, 700, 0, null],
    ['reserve:task_live', 'reserve', 'available', 'reserved', 100, 600, 100, null],
    ['reserve:task_held', 'reserve', 'available', 'reserved', 70, 530, 170, null],
    ['reserve:task_called', 'reserve', 'available', 'reserved', 80, 450, 250, null],
  ]);
  assert.deepEqual(await balances(db, 'acct_ada'), {
    paid: { available: 450, reserved: 250 },
    promotional: { available: 50, reserved: 0 },
  });
  assert.deepEqual(await table('select * from task_reservations order by task_id'), [
    ['task_called', 'acct_ada', 80, null, null],
    ['task_done', 'acct_ada', 290, 'capture', 290],
    ['task_failed', 'acct_ada', 300, 'refund', 300],
    ['task_held', 'acct_ada', 70, null, null],
    ['task_live', 'acct_ada', 100, null, null],
  ]);
});

test('attempts, their evidence and the causes that name a find say so', async () => {
  const attempts = await table(
    `select id, state, outcome_by, (outcome_at is null) as no_outcome_at, job_id, cause
     from attempts order by id`,
  );
  const absent = { attempt: 'att_absent', find: { kind: 'absent', proof: 'strong' } };
  assert.deepEqual(attempts, [
    ['att_absent', 'absent', 'find', false, null, absent],
    ['att_called', 'accepted', 'callback', false, 'job-2', null],
    ['att_decided', 'absent', 'operator', false, null, { operator: 'not in the console' }],
    ['att_found', 'accepted', 'find', false, 'job-1', null],
    ['att_not_sent', 'not_sent', 'sender', false, null, null],
    ['att_open', 'in_flight', null, true, null, null],
    ['att_rejected', 'rejected', 'sender', false, null, null],
    ['att_unknown', 'unknown', 'sender', false, null, { failure: 'reset' }],
  ]);
  assert.deepEqual(await table('select digest, source, times from evidence order by digest'), [
    ['a', 'sender', 1],
    ['b', 'find', 7],
    ['c', 'find', 1],
    ['d', 'callback', 2],
    ['e', 'operator', 1],
  ]);
  assert.deepEqual(await table('select cause from task_history order by task_id, phase'), [
    [{ attempt: 'att_found', find: { kind: 'found' }, job: 'job-1' }],
    [null],
    [{ attempt: 'att_unknown', failure: 'reset' }],
  ]);
});

test('objects, internal failures and quotas keep their values', async () => {
  assert.deepEqual(await table('select id, state from objects order by id'), [
    ['obj_done', 'ready'],
    ['obj_doomed', 'deleting'],
    ['obj_old', 'deleted'],
    ['obj_writing', 'writing'],
  ]);
  assert.deepEqual(
    await table('select id, internal_failures from tasks where internal_failures > 0'),
    [['task_live', 3]],
  );
  assert.deepEqual(await table('select quota, purpose from provider_turns'), [['ark', 'submit']]);
});

test('transfers are append-only again', async () => {
  for (const change of ['update ledger_transfers set note = null', 'delete from ledger_transfers'])
    await assert.rejects(sql(db, change), /ledger_transfers is append-only/);
});

test('a task of the release can be settled once, and reserved no second time', async () => {
  const undo = new Error('undo');
  const paid = { accountId: 'acct_ada', credits: 70 };
  const held = { ...paid, taskId: 'task_held' };
  const trial = db.transaction(async (tx) => {
    await settle(tx, 'refund', [held]);
    assert.deepEqual((await balances(tx, 'acct_ada')).paid, { available: 520, reserved: 180 });
    throw undo;
  });
  await assert.rejects(trial, undo);
  for (const again of [
    () => db.transaction((tx) => reserve(tx, { ...paid, taskId: 'task_live' })),
    () => db.transaction((tx) => settle(tx, 'refund', [{ ...held, taskId: 'task_done' }])),
  ]) {
    await assert.rejects(again(), { constraint: 'ledger_transfers_reference_key' });
  }
});

test('the rules and indexes of the new states are there', async () => {
  const newAttempt = `insert into attempts (id, task_id, provider, send_before)
    values ('att_second', 'task_live', 'ark', clock_now())`;
  await assert.rejects(sql(db, newAttempt), { constraint: 'one_live_attempt' });
  for (const [wrong, constraint] of [
    [`update attempts set state = 'open'`, 'attempts_state_check'],
    [`update attempts set outcome_by = 'look_up'`, 'attempts_outcome_by_check'],
    [`update evidence set source = 'look_up'`, 'evidence_source_check'],
    [`update objects set state = 'doomed'`, 'objects_state_check'],
    [
      `update ledger_balances set reserved = -1, granted = available + spent - 1`,
      'reserved_not_negative',
    ],
  ] as const) {
    await assert.rejects(sql(db, wrong), { constraint });
  }
  const partial = await table(
    `select indexname, substring(indexdef from 'WHERE .*') from pg_indexes where indexname in
       ('one_live_attempt', 'attempts_in_flight', 'attempts_reconciled', 'objects_deleting')`,
  );
  const states = partial.map(([name, where]) => [name, String(where).match(/(?<=')\w+(?=')/g)]);
  assert.deepEqual(Object.fromEntries(states), {
    attempts_reconciled: ['find', 'callback'],
    attempts_in_flight: ['in_flight'],
    objects_deleting: ['deleting'],
    one_live_attempt: ['in_flight', 'unknown', 'accepted'],
  });
});

// The names that Postgres 18 gives to NOT NULL constraints follow no renamed column or table.
const SCHEMA = `
  select conname || ' ' || pg_get_constraintdef(oid) as text from pg_constraint
    where connamespace = 'public'::regnamespace and contype <> 'n'
  union all select indexname || ' ' || indexdef from pg_indexes where schemaname = 'public'
  union all select table_name || '.' || column_name || ' ' || coalesce(column_default, '')
    from information_schema.columns where table_schema = 'public'
  union all select viewname || ' ' || definition from pg_views where schemaname = 'public'
  union all select proname || ' ' || prosrc from pg_proc where pronamespace = 'public'::regnamespace`;

const OLD_WORDS =
  /ledger_accounts|task_holds|'hold|held_after|held_not_negative|resolved|look_up|doomed|stumbles|'open'|\.account\b/;

test('no table, column, constraint, index, view or function has an old name', async () => {
  const schema = (await table(SCHEMA)).map(([text]) => String(text));
  assert.ok(schema.length > 100);
  assert.deepEqual(
    schema.filter((text) => OLD_WORDS.test(text)),
    [],
  );
});
