import assert from 'node:assert/strict';
import { cp, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { openTestDatabase, quiet } from '../../test/database.ts';
import { sql } from '../../test/task-fixtures.ts';
import { openTestFolder, temporaryFolder } from '../../test/temporary-folder.ts';
import { until } from '../../test/until.ts';
import { openDatabase } from './database.ts';
import { checkSchema, type MigrateOptions, migrate, requirePrivileges } from './migrate.ts';
import { MIGRATIONS_FOLDER, readMigrations } from './migration/migration-files.ts';

/** An empty database, and a folder of migrations of its own. */
async function openEmpty(files: Record<string, string> = {}) {
  const database = await openTestDatabase();
  const temporary = await openTestFolder();
  const folder = pathToFileURL(`${temporary.path}/`);
  const { db, url } = database;
  await sql(db, 'drop schema public cascade');
  await sql(db, 'create schema public');
  const write = (name: string, text: string) => writeFile(new URL(name, folder), text);
  for (const [name, text] of Object.entries(files)) await write(name, text);
  const reports: string[] = [];
  const run = (options: MigrateOptions = {}) =>
    migrate(url, { folder, report: (text) => reports.push(text), ...options });
  return { db, url, folder, write, run, reports };
}

const HEADER = '-- oldest-program: 0013\n';
const ALONE = `${HEADER}-- transaction: none\n`;

test('each migration runs once and in order when several processes start at once', async () => {
  const files = ['0001_baseline.sql', '0014_table.sql', '0015_index.sql'];
  const { db, run } = await openEmpty({
    '0001_baseline.sql': await readFile(new URL('0001_baseline.sql', MIGRATIONS_FOLDER), 'utf8'),
    '0014_table.sql': `${HEADER}create table numbers (n int);
      insert into numbers select generate_series(1, 20000);\n`,
    '0015_index.sql': `${ALONE}-- by value\ncreate index concurrently numbers_n on numbers (n);\n`,
  });
  const runs = await Promise.all([run(), run(), run()]);
  const complete = runs.filter((ran) => ran.length > 0);
  assert.deepEqual(complete, [files]);
  const recorded = await sql<{ name: string }>(db, 'select name from migrations order by ran_at');
  const names = recorded.map(({ name }) => name);
  assert.deepEqual(names, files);
  await sql(db, 'select 1 from ledger_transfers');
  assert.deepEqual(await indexes(db), [{ name: 'numbers_n', valid: true }]);
  assert.deepEqual(await run(), [], 'a database that is up to date does not change');
});

test('a failed migration is rolled back, and runs again after its cause is removed', async () => {
  const { db, url } = await openEmpty();
  await sql(db, 'create table api_keys (in_the_way int)');
  const cause = /migration 0001_baseline\.sql failed: relation "api_keys" already exists/;
  await assert.rejects(migrate(url), cause);
  const there = await sql(db, `select 1 from pg_tables where tablename = 'accounts'`);
  assert.deepEqual(there, []);
  await sql(db, 'drop table api_keys');
  const all = await readMigrations(MIGRATIONS_FOLDER);
  assert.deepEqual(
    await migrate(url),
    all.map(({ name }) => name),
  );
});

test('an invalid index of an interrupted run is built again, and a complete one is not', async () => {
  const { db, run, write, reports } = await openEmpty({
    '0014_table.sql': `${HEADER}create table numbers (n int);\n`,
  });
  await run();
  await sql(db, 'insert into numbers values (1), (1)');
  const build = 'create unique index concurrently numbers_n on numbers (n)';
  await assert.rejects(sql(db, build), /could not create unique index/);
  assert.deepEqual(await indexes(db), [{ name: 'numbers_n', valid: false }]);
  await write('0015_index.sql', `${ALONE}${build};\n`);
  await assert.rejects(run(), /0015_index\.sql failed: could not create unique index/);
  assert.ok(reports.some((text) => text.includes('drops the invalid index numbers_n')));
  assert.deepEqual(await indexes(db), [], 'the index of the failed run is dropped');
  await sql(db, 'delete from numbers');
  assert.deepEqual(await run(), ['0015_index.sql']);
  await sql(db, `delete from migrations where name = '0015_index.sql'`);
  assert.deepEqual(await run(), ['0015_index.sql']);
  assert.deepEqual(await indexes(db), [{ name: 'numbers_n', valid: true }]);
});

function indexes(db: Parameters<typeof sql>[0]) {
  const select = `select indexrelid::regclass::text as name, indisvalid as valid from pg_index
    where indrelid = 'numbers'::regclass`;
  return sql(db, select);
}

test('an update with a limit is repeated until it changes no row', async () => {
  const { db, run, reports } = await openEmpty({
    '0014_fill.sql': `${ALONE}update numbers set m = n
      where n in (select n from numbers where m is null limit 4);\n`,
  });
  await sql(db, 'create table numbers (n int, m int)');
  await sql(db, 'insert into numbers select generate_series(1, 10)');
  await run();
  assert.deepEqual(await sql(db, 'select 1 from numbers where m is distinct from n'), []);
  assert.ok(reports.includes('changed 8 rows so far'));
});

const WRONG = [
  ['0014_x.sql', 'select 1;', /needs a header "-- oldest-program: NNNN"/],
  ['0014_x.sql', '-- oldest-program: 13\nselect 1;', /"13" is not a value of "oldest-program"/],
  ['0014_x.sql', '-- oldest-program: 0015\nselect 1;', /can't be newer than the migration itself/],
  ['0014_x.sql', `${HEADER}-- transaction: maybe\nselect 1;`, /not a value of "transaction"/],
  ['0014_x.sql', `${ALONE}create index x on y (z);`, /can't have this statement: create index x/],
  ['0014_x.sql', `${ALONE}update y set z = 1;`, /can't have this statement: update y/],
  ['x.sql', HEADER, /the name of a migration/],
] as const;

test('a file that does not keep to the rules is refused', async () => {
  const { run, write } = await openEmpty();
  for (const [name, text, words] of WRONG) {
    await write(name, text);
    await assert.rejects(run(), words);
  }
});

test('a command refuses an older schema and says what to do', async () => {
  const { url, folder, write } = await openEmpty();
  const checking = checkSchema(url);
  await assert.rejects(checking, /has no tables yet.* "npx --no-install framewright migrate"/);
  await migrate(url);
  await checkSchema(url);
  await cp(new URL('0001_baseline.sql', MIGRATIONS_FOLDER), new URL('0001_baseline.sql', folder));
  await write('0014_table.sql', HEADER);
  await assert.rejects(checkSchema(url, folder), {
    name: 'UsageError',
    message: /older than this program: 0014_table\.sql must run first/,
  });
});

/** Ends a test that would wait for ever. */
function notBlocked<T>(work: Promise<T>): Promise<T> {
  const end = new Promise<never>((_resolve, reject) => {
    setTimeout(() => reject(new Error('blocked for 10 s')), 10_000).unref();
  });
  return Promise.race([work, end]);
}

test('a migration that gets no lock blocks no readers; it is tried again, or fails with advice', async (t) => {
  const { db, run, reports } = await openEmpty({
    '0014_column.sql': `${HEADER}alter table numbers add column m int;\n`,
  });
  await sql(db, 'create table numbers (n int)');
  let [slowest, reads] = [0, 0];
  let waiting: Promise<string[]> | undefined;
  await db.transaction(async (tx) => {
    await sql(tx, 'select n from numbers'); // holds its lock until the end of the transaction
    await assert.rejects(
      notBlocked(run({ lockMs: 50, pauseMs: 10, patienceMs: 200 })),
      /0014_column\.sql failed: canceling.*lock timeout\. End the transactions that are open/,
    );
    reports.length = 0;
    const migrated = run({ lockMs: 100, pauseMs: 100 });
    while (reports.length < 3) {
      const start = performance.now();
      await notBlocked(sql(db, 'select n from numbers'));
      slowest = Math.max(slowest, performance.now() - start);
      reads += 1;
    }
    waiting = migrated;
  });
  assert.deepEqual(await waiting, ['0014_column.sql']);
  t.diagnostic(`${reads} reads, the slowest took ${Math.round(slowest)} ms`);
  assert.match(reports[0] ?? '', /waits for a lock \(try 1.*oldest open transaction is pid/);
});

test('a file that changed after it ran is refused; its line endings may change', async () => {
  const { run, write } = await openEmpty({
    '0014_table.sql': `${HEADER}create table numbers (n int);\n`,
  });
  await run();
  await write(
    '0014_table.sql',
    `${HEADER}create table numbers (n int);\n`.replaceAll('\n', '\r\n'),
  );
  assert.deepEqual(await run(), []);
  await write('0014_table.sql', `${HEADER}create table numbers (n bigint);\n`);
  await assert.rejects(run(), {
    name: 'UsageError',
    message: /changed after they had run: 0014_table\.sql\. Restore the files/,
  });
});

test('an older program accepts a newer schema only if its migrations name it', async () => {
  const { db, run } = await openEmpty({ '0014_table.sql': HEADER });
  await run();
  const newer = (oldest: string) =>
    sql(
      db,
      `insert into migrations (name, checksum, oldest_program) values ('0015_next.sql', '', $1)
       on conflict (name) do update set oldest_program = excluded.oldest_program`,
      [oldest],
    );
  await newer('0014');
  assert.deepEqual(await run(), []);
  await newer('0015');
  await assert.rejects(run(), /0015_next\.sql\).*is 0015; this one is 0014\. Run the newer/);
});

/** A role of its own for a test, and the address of the database with it. */
async function openRole(t: TestContext, db: Parameters<typeof sql>[0], url: string) {
  const role = `serving_${process.pid}_${Date.now()}`;
  await sql(db, `create role ${role} login password 'first'`);
  t.after(() => sql(db, `drop owned by ${role}; drop role ${role}`).catch(() => {}));
  const address = new URL(url);
  address.username = role;
  address.password = 'first';
  return { role, address };
}

test('a role that may only read and write starts, and is told what it may not do', async (t) => {
  const { db, url } = await openEmpty();
  await migrate(url);
  const { role, address } = await openRole(t, db, url);
  await assert.rejects(migrate(address.href), { message: /may not use the schema: see docs/ });
  await sql(db, `grant usage on schema public to ${role}; grant select on migrations to ${role}`);
  await assert.rejects(requirePrivileges(address.href), {
    name: 'UsageError',
    message: new RegExp(
      `the role ${role} may not select, .* in account_\\w+ and \\d+ more\\. Grant`,
    ),
  });
  await sql(db, `grant select, insert, update, delete on all tables in schema public to ${role}`);
  assert.deepEqual(await migrate(address.href), []);
  await requirePrivileges(address.href);
  await sql(db, 'delete from migrations');
  await assert.rejects(migrate(address.href), {
    name: 'UsageError',
    message: new RegExp(`must be migrated, but the role ${role} may not change it.*migrate`),
  });
});

test('a read-only database is refused in one line', async () => {
  const { db, url } = await openEmpty();
  await migrate(url);
  const name = new URL(url).pathname.slice(1);
  await sql(db, `alter database ${name} set default_transaction_read_only = on`);
  await assert.rejects(requirePrivileges(url), { name: 'UsageError', message: /is read-only/ });
  await sql(db, 'delete from migrations');
  await assert.rejects(migrate(url), { name: 'UsageError', message: /is read-only/ });
});

test('a changed password is read again from the password file, without a restart', async (t) => {
  const { db, url } = await openEmpty();
  const { role, address } = await openRole(t, db, url);
  await using folder = await temporaryFolder();
  const file = path.join(folder.path, 'pgpass');
  const setPassword = (password: string) =>
    writeFile(file, `*:*:*:${role}:${password}\n`, { mode: 0o600 });
  await setPassword('first');
  const before = process.env.PGPASSFILE;
  process.env.PGPASSFILE = file;
  address.password = '';
  const warnings: string[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning.message);
  process.on('warning', onWarning);
  const serving = openDatabase({ url: address.href, connections: 2, log: quiet });
  try {
    await sql(serving, 'select 1');
    await sql(db, `alter role ${role} password 'second'`);
    const select = `select pg_terminate_backend(pid) from pg_stat_activity where usename = $1`;
    await sql(db, select, [role]);
    await until(
      () => sql(serving, 'select 1').catch(String),
      (end) => /DatabaseUnavailable: .*password authentication failed/.test(String(end)),
    );
    await setPassword('second');
    await until(
      () => sql(serving, 'select 1').catch(() => []),
      (rows) => rows.length === 1,
    );
    assert.deepEqual(warnings, []); // pg 9 no longer reads the file by itself, and pg 8 warns
  } finally {
    process.off('warning', onWarning);
    if (before === undefined) delete process.env.PGPASSFILE;
    else process.env.PGPASSFILE = before;
    await serving.close();
  }
});
