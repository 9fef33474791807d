import assert from 'node:assert/strict';
import { hostname, userInfo } from 'node:os';
import { test } from 'node:test';
import { openTestDatabase } from '../../test/database.ts';
import { ask } from '../../test/service/command-line.ts';
import { parseCommandLine } from './command-line.ts';

const database = await openTestDatabase();

/** Runs a command line in this process. */
async function run(args: string[], db = database.db) {
  const { run: perform } = await parseCommandLine(args);
  return JSON.parse(JSON.stringify(await perform({ db })));
}

async function recordedActions(target: string, db = database.db) {
  const rows = await run(['actions', 'list', '--target', target], db);
  return rows.map(({ command, actor, reason, details }: Record<string, unknown>) => ({
    command,
    actor,
    reason,
    details,
  }));
}

test('a command that changes something is recorded once, with who ran it and why', async () => {
  const env = { DATABASE_URL: database.url };
  const { account_id: id } = await ask(env, 'accounts create ada@example.com --by ada');
  const disabled = await Promise.all(
    [1, 2, 3].map(() => ask(env, `accounts disable ${id} --reason fraud`)),
  );
  assert.deepEqual(disabled.map(({ changed }) => changed).sort(), [false, false, true]);
  const actor = `${userInfo().username}@${hostname()}`;
  assert.deepEqual(await recordedActions(String(id)), [
    { command: 'accounts disable', actor, reason: 'fraud', details: null },
    { command: 'accounts create', actor: 'ada', reason: null, details: null },
  ]);
});

test('a change that fails leaves no record', async () => {
  const { account_id: id } = await run(['accounts', 'create', 'alan@example.com']);
  const line = ['credits', 'adjust', id, '-5', '--kind', 'paid', '--reference', 'r2'];
  await assert.rejects(run([...line, '--reason', 'x']), /fewer available credits/);
  await assert.rejects(run(['accounts', 'create', 'ALAN@example.com']), /already has an account/);
  assert.equal((await recordedActions(id)).length, 1);
});
