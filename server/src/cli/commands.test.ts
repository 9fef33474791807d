import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestDatabase } from '../../test/database.ts';
import { isOneLineAbout } from '../../test/providers/settings.ts';
import { sql } from '../../test/task-fixtures.ts';
import { parseCommandLine } from './command-line.ts';

const database = await openTestDatabase();
const { db } = database;
await run('accounts create ada@example.com');

/** Runs a command line and returns the result that --json prints. */
async function run(line: string) {
  const { run: perform } = await parseCommandLine(line.split(' '));
  return JSON.parse(JSON.stringify(await perform({ db })));
}

test('keys are created with name, expiry and cap, listed without secrets, and revoked', async () => {
  const created = await run(
    'keys create ada@example.com --name ci --expires-at 2031-01-31T00:00:00 --monthly-cap 900',
  );
  assert.deepEqual(Object.keys(created), ['key_id', 'mode', 'secret', 'expires_at', 'monthly_cap']);
  assert.equal(created.expires_at, '2031-01-31T00:00:00.000Z');
  assert.equal(created.monthly_cap, 900);
  assert.equal((await run(`keys revoke ${created.key_id}`)).revoked, true);
  const list = await run('keys list ada@example.com');
  assert.ok(!JSON.stringify(list).includes(created.secret));
  assert.equal(list[0].name, 'ci');
  assert.equal(list[0].expires_at, '2031-01-31T00:00:00.000Z');
  assert.ok(list[0].revoked_at);
  assert.match((await run('keys create ada@example.com --test')).secret, /^fw_test_/);
  const modes = (await run('keys list ada@example.com')).map(({ mode }: { mode: string }) => mode);
  assert.deepEqual(modes, ['live', 'test']);
});

test('a key is renamed, and its cap changed and removed, with a record of each change', async () => {
  await run('accounts create cap@example.com');
  const { key_id: id } = await run('keys create cap@example.com --monthly-cap 5');
  const capListed = async () => (await run('keys list cap@example.com'))[0].monthly_cap;
  assert.equal((await run(`keys update ${id} --name build`)).changed, true);
  assert.equal((await run(`keys update ${id} --monthly-cap 0`)).changed, true);
  assert.equal((await run(`keys update ${id} --monthly-cap 0`)).changed, false);
  const expiring = `keys update ${id} --expires-at`;
  assert.equal((await run(`${expiring} 2099-01-31`)).changed, true);
  assert.equal((await run(`${expiring} 2099-01-31T00:00:00Z`)).changed, false);
  assert.equal((await run(`${expiring} none`)).changed, true);
  await assert.rejects(run(`${expiring} 2020-01-01`), /must be in the future, or none/);
  assert.equal(await capListed(), 0);
  await run(`keys update ${id} --monthly-cap none`);
  assert.equal(await capListed(), null);
  const actions = await run(`actions list --target ${id}`);
  const details = actions.map((action: { details: object }) => action.details);
  const before = { monthlyCap: 0, expiresAt: null };
  const expiresAt = '2099-01-31T00:00:00.000Z';
  assert.deepEqual(details.slice(0, 5), [
    { monthlyCap: null, before },
    { expiresAt: null, before: { ...before, expiresAt } },
    { expiresAt, before },
    { monthlyCap: 0, before: { ...before, monthlyCap: 5 } },
    { name: 'build', before: { ...before, monthlyCap: 5 } },
  ]);
});

const MISTAKES = [
  'acounts list',
  'accounts',
  'accounts create',
  'accounts create ada@example.com',
  'accounts disable nobody@example.com',
  'credits grant ada@example.com 5 --kind gold --reference r',
  'credits grant ada@example.com 1.5 --kind paid --reference r',
  'credits grant ada@example.com 5 --kind paid --reference r --note x',
  'credits grant ada@example.com 5 --kind paid --reference r --expires-at soon',
  'credits clawback ada@example.com 5 --payment unknown --reference r --reason x',
  'credits adjust ada@example.com 5 --kind paid --reference r',
  'credits adjust ada@example.com 0 --kind paid --reference r --reason x',
  'keys create ada@example.com --expires-at 2031-02-30',
  'keys create ada@example.com --expires-at 2020-01-01',
  'keys create ada@example.com --monthly-cap -5',
  'keys revoke key_unknown',
  'keys list ada@example.com --all',
  'tasks show task_unknown',
  'tasks list --due --phase held',
  'actions list --limit 1001',
  'actions list --by ada',
  'migrate now',
];

test('every mistake gives a one-line error and leaves the balances as they are', async () => {
  const before = await run('credits show ada@example.com');
  for (const line of MISTAKES) {
    await assert.rejects(async () => run(line), isOneLineAbout(/./), line);
  }
  assert.deepEqual(await run('credits show ada@example.com'), before);
});

const NAMED_MISTAKES = [
  ['reconcile task_1 --failed --not-accepted --reason seen', /is required, and only one of them/],
  ['reconcile --failed --reason seen', /usage: npx --no-install framewright reconcile ID/],
  ['orphan list', /Try: npx --no-install framewright orphans list/],
  [
    'tasks cancel task_1 --reason --by ada',
    /--reason needs a value. .* framewright tasks cancel ID/,
  ],
] as const;

test('an error says what is missing or wrong, with the full command', async () => {
  for (const [line, words] of NAMED_MISTAKES) await assert.rejects(async () => run(line), words);
});

test('an erased account gets no new key', async () => {
  await run('accounts create erased@example.com');
  const update = `update accounts set erased_at = clock_now(), disabled_at = clock_now()
    where email = 'erased@example.com'`;
  await sql(db, update);
  await assert.rejects(run('keys create erased@example.com'), /was erased: it can't be used again/);
});
