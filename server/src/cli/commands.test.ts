import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createTestDatabase } from '../../test/database.ts';
import { sql } from '../../test/task-fixtures.ts';
import { UsageError } from '../kernel/errors.ts';
import { parseCommandLine } from './command-line.ts';

const database = await createTestDatabase();
const { db } = database;
await does('accounts create ada@example.com');
after(() => database.close());

/** Runs a command line and returns the result that --json prints. */
async function does(line: string) {
  const { run } = await parseCommandLine(line.split(' '));
  return JSON.parse(JSON.stringify(await run({ db })));
}

test('a clawback takes credits back once, records a debt and who did it', async () => {
  await does('accounts create donald@example.com');
  await does('credits grant donald@example.com 500 --kind paid --reference r6');
  await does('credits adjust donald@example.com -480 --kind paid --reference r6 --reason used');
  const line =
    'credits clawback donald@example.com 500 --payment r6 --reference cb1 --reason chargeback';
  const { account_id, ...taken } = await does(line);
  assert.deepEqual(taken, { kind: 'paid', available: 0, reserved: 0, debt: 480, booked: true });
  assert.equal((await does(line)).booked, false);
  await assert.rejects(does(line.replace('500', '400')), /was used with other values/);
  await assert.rejects(does(line.replace('cb1', 'cb2')), /0 of its 500 credits/);
  await assert.rejects(does(line.replace('r6', 'r5')), /no grant with the reference "r5"/);
  const recorded = await sql<{ target: string; reason: string }>(
    db,
    `select target, reason from operator_actions where command = 'credits clawback'`,
  );
  assert.deepEqual(recorded, [{ target: account_id, reason: 'chargeback' }]);
});

test('keys are created with name, expiry and cap, listed without secrets, and revoked', async () => {
  const created = await does(
    'keys create ada@example.com --name ci --expires-at 2031-01-31T00:00:00 --monthly-cap 900',
  );
  assert.deepEqual(Object.keys(created), ['key_id', 'mode', 'secret', 'expires_at', 'monthly_cap']);
  assert.equal(created.expires_at, '2031-01-31T00:00:00.000Z');
  assert.equal(created.monthly_cap, 900);
  assert.equal((await does(`keys revoke ${created.key_id}`)).revoked, true);
  const list = await does('keys list ada@example.com');
  assert.ok(!JSON.stringify(list).includes(created.secret));
  assert.equal(list[0].name, 'ci');
  assert.equal(list[0].expires_at, '2031-01-31T00:00:00.000Z');
  assert.ok(list[0].revoked_at);
  assert.match((await does('keys create ada@example.com --test')).secret, /^fw_test_/);
  const modes = (await does('keys list ada@example.com')).map(({ mode }: { mode: string }) => mode);
  assert.deepEqual(modes, ['live', 'test']);
});

test('a key is renamed, and its cap changed and removed, with a record of each change', async () => {
  await does('accounts create cap@example.com');
  const { key_id: id } = await does('keys create cap@example.com --monthly-cap 5');
  const listed = async () => (await does('keys list cap@example.com'))[0];
  assert.equal((await does(`keys update ${id} --name build`)).changed, true);
  assert.equal((await does(`keys update ${id} --monthly-cap 0`)).changed, true);
  assert.equal((await does(`keys update ${id} --monthly-cap 0`)).changed, false);
  const { name, monthly_cap, spent_this_month, last_used_at } = await listed();
  assert.deepEqual(
    { name, monthly_cap, spent_this_month, last_used_at },
    {
      name: 'build',
      monthly_cap: 0,
      spent_this_month: 0,
      last_used_at: null,
    },
  );
  await does(`keys update ${id} --monthly-cap none`);
  assert.equal((await listed()).monthly_cap, null);
  const actions = await does(`actions list --target ${id}`);
  assert.deepEqual(
    actions.map((action: { details: object }) => action.details),
    [
      { monthlyCap: null },
      { monthlyCap: 0 },
      { name: 'build' },
      { account: (await does('accounts show cap@example.com')).account_id },
    ],
  );
});

test('an account is disabled by its e-mail address or its id', async () => {
  const { account_id: id } = await does('accounts create edsger@example.com');
  const disabled = { account_id: id, disabled: true };
  const first = await does('accounts disable Edsger@example.com');
  assert.deepEqual(first, { ...disabled, changed: true });
  assert.deepEqual(await does(`accounts disable ${id}`), { ...disabled, changed: false });
});

const MISTAKES = [
  'acounts list',
  'accounts',
  'accounts create',
  'accounts create a@x.org b@x.org',
  'accounts create ada',
  'accounts create ada@example.com',
  'accounts disable nobody@example.com',
  'credits show nobody@example.com',
  'credits grant ada@example.com',
  'credits grant ada@example.com 5 --kind paid',
  'credits grant ada@example.com 5 --reference r',
  'credits grant ada@example.com 5 --kind gold --reference r',
  'credits grant ada@example.com five --kind paid --reference r',
  'credits grant ada@example.com 1.5 --kind paid --reference r',
  'credits grant ada@example.com -5 --kind paid --reference r',
  'credits grant ada@example.com 5 --kind paid --reference r --note x',
  'credits adjust ada@example.com 5 --kind paid --reference r',
  'credits grant ada@example.com 5 --kind paid --reference r --expires-at soon',
  'credits clawback ada@example.com 5 --payment r1 --reference r',
  'credits clawback ada@example.com 5 --payment unknown --reference r --reason x',
  'credits clawback ada@example.com -5 --payment r1 --reference r --reason x',
  'credits adjust ada@example.com 0 --kind paid --reference r --reason x',
  'keys create ada@example.com --expires-at tomorrow',
  'keys create ada@example.com --expires-at 2031-02-30',
  'keys create ada@example.com --expires-at 2020-01-01',
  'keys create ada@example.com --monthly-cap -5',
  'keys create ada@example.com --monthly-cap many',
  'keys update key_unknown --name x',
  'keys revoke key_unknown',
  'keys list ada@example.com --all',
  'tasks show task_unknown',
  'tasks list --phase sleeping',
  'tasks list --due --phase held',
  'tasks list --account nobody@example.com',
  'actions list --limit 0',
  'actions list --limit 1001',
  'actions list --after yesterday',
  'actions list --by ada',
  'audit now',
  'migrate now',
];

test('every mistake gives a one-line error and leaves the balances as they are', async () => {
  const before = await does('credits show ada@example.com');
  for (const line of MISTAKES) {
    await assert.rejects(
      async () => does(line),
      (error) => error instanceof UsageError && /^[^\n]+$/.test(error.message),
      line,
    );
  }
  assert.deepEqual(await does('credits show ada@example.com'), before);
});

const NAMED_MISTAKES = [
  ['reconcile task_1 --reason seen', /--accepted or --not-accepted or --failed is required/],
  ['reconcile task_1 --failed --not-accepted --reason seen', /is required, and only one of them/],
  [
    'reconcile task_1 --accepted ../x --reason seen',
    /--accepted must be the id of the provider’s job/,
  ],
  ['reconcile task_1 --failed', /--reason is required/],
  ['reconcile task_1 --failed --reason seen', /there is no task "task_1"/],
  ['reconcile --failed --reason seen', /usage: npx --no-install framewright reconcile ID/],
  ['orphans', /Try: npx --no-install framewright orphans list/],
  ['orphan list', /Try: npx --no-install framewright orphans list/],
  ['toast', /Try: npx --no-install framewright --help/],
  [
    'tasks cancel task_1 --reason',
    /^UsageError: --reason needs a value\. Usage: npx --no-install framewright tasks cancel ID/,
  ],
  [
    'tasks cancel task_1 --reason --by ada',
    /^UsageError: --reason needs a value\. Usage: npx --no-install framewright tasks cancel ID/,
  ],
] as const;

test('an error says what is missing or wrong, with the full command', async () => {
  for (const [line, words] of NAMED_MISTAKES) await assert.rejects(async () => does(line), words);
});

test('an erased account gets no new key', async () => {
  await does('accounts create erased@example.com');
  await sql(
    db,
    `update accounts set erased_at = clock_now(), disabled_at = clock_now()
     where email = 'erased@example.com'`,
  );
  await assert.rejects(
    does('keys create erased@example.com'),
    /was erased: it can't be used again/,
  );
});
