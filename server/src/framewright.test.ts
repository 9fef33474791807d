import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { test } from 'node:test';
import { openTestDatabase } from '../test/database.ts';
import { longTest } from '../test/long.ts';
import { ask, run } from '../test/service/command-line.ts';
import { sql } from '../test/task-fixtures.ts';
import { temporaryFolder } from '../test/temporary-folder.ts';
import { createAccount } from './accounts/accounts.ts';

const database = await openTestDatabase();
const own = { DATABASE_URL: database.url };
const AWAY = { DATABASE_URL: 'postgres://ada:hunter2@127.0.0.1:1/x' };

longTest('the first command creates the embedded database, the next one opens it', async () => {
  await using folder = await temporaryFolder();
  const embedded = { DATA_DIR: folder.path };
  await ask(embedded, 'accounts create grace@example.com');
  const shown = await ask(embedded, 'credits show grace@example.com');
  assert.equal((await run(embedded, 'audit')).err, '');
  const nothing = { available: 0, reserved: 0, debt: 0 };
  assert.deepEqual([shown.paid, shown.promotional, shown.lots], [nothing, nothing, []]);
  assert.deepEqual(shown.test, { available: 100_000, reserved: 0 });
  const { totals } = await ask(embedded, 'credits statement grace@example.com --kind test');
  assert.partialDeepStrictEqual(totals, [{ kind: 'test' }]);
});

test('an audit that finds a problem reports it and exits 1', async () => {
  const damaged = await openTestDatabase();
  await createAccount(damaged.db, 'ada@example.com');
  await sql(damaged.db, 'update ledger_balances set available = 5, granted = 5');
  const found = await ask({ DATABASE_URL: damaged.url }, 'audit', 1);
  assert.equal(found.ok, false);
  assert.ok(Array.isArray(found.problems) && found.problems.length > 0);
});

test('migrate brings an empty database up to date', async () => {
  const empty = await openTestDatabase();
  await sql(empty.db, 'drop schema public cascade');
  await sql(empty.db, 'create schema public');
  const early = await run({ DATABASE_URL: empty.url }, 'audit');
  assert.equal(early.code, 2);
  assert.match(early.err, /^framewright: the database has no tables yet.*migrate[^\n]*\n$/);
  assert.deepEqual(await ask({ DATABASE_URL: empty.url }, 'migrate'), { up_to_date: true });
  await sql(empty.db, 'select 1 from tasks');
});

for (const [title, env, line, message] of [
  ['a usage error', own, 'credits grant ada', /usage: /],
  ['an unknown account', own, 'credits show nobody@example.com', /nobody@example.com/],
  ['an unknown option', own, 'serve --port=80', /usage: .* serve$/],
  [
    'a bad variable',
    { POLL_MIN_SECONDS: 'often' },
    'serve',
    /^POLL_MIN_SECONDS="often" is not valid/,
  ],
  ['an unreachable database', AWAY, 'audit', /ECONNREFUSED/],
  [
    'an unusable data folder',
    { DATA_DIR: '/dev/null/x' },
    'migrate',
    /^the data folder \/dev\/null\/x can't be used: /,
  ],
] as const) {
  test(`${title} is one line on standard error, exit 2, and nothing on standard output`, async () => {
    const { code, out, err } = await run(env, ...line.split(' '));
    assert.deepEqual([code, out], [2, ''], err);
    const [, text = ''] = /^framewright: ([^\n]+)\n$/.exec(err) ?? assert.fail(err);
    assert.match(text, message);
    assert.doesNotMatch(err, /hunter2/);
  });
}

test('a command in a folder without a database makes none, and says where to run it', async () => {
  await using folder = await temporaryFolder();
  const command = ['keys', 'create', 'ada@example.com'];
  const { code, out, err } = await run({ DATA_DIR: folder.path }, ...command);
  assert.deepEqual([code, out], [2, '']);
  assert.match(err, /^framewright: there is no database in [^\n]+ where the service was started/);
  assert.deepEqual(await readdir(folder.path), []);
});

test('--help shows every command, and a missing command exits 2', async () => {
  const help = await run({}, '--help');
  assert.equal(help.code, 0);
  const names = ['serve', 'accounts create', 'accounts disable', 'keys create', 'keys revoke'];
  names.push('keys list', 'credits grant', 'credits adjust', 'credits show', 'tasks list');
  names.push('tasks show', 'audit', 'migrate');
  for (const name of names) assert.match(help.out, new RegExp(`^  ${name}\\b`, 'm'));
  assert.equal((await run({})).code, 2);
  const group = await run({}, 'keys', 'create', '--help');
  assert.match(group.out, /^ {2}keys create ACCOUNT/m);
  assert.doesNotMatch(group.out, /accounts create/);
});

test('--version prints the version', async () => {
  const { code, out } = await run({}, '--version');
  assert.equal(code, 0);
  assert.match(out, /^\d+\.\d+\.\d+\n$/);
});
