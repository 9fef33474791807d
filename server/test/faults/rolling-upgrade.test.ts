import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readdir, readlink, symlink } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { audit } from '../../src/operator/audit.ts';
import { ROOT } from '../repository/sources.ts';
import { serviceEnvironment } from '../service/service-process.ts';
import { sql } from '../task-fixtures.ts';
import { until } from '../until.ts';
import { openDeployment, type UpgradeLoad } from './upgrade-load.ts';

/** Keys that are made with the previous version: each may make 30 requests in a minute. */
const KEYS = 20;
/** How many creates must be accepted in each state of the deployment. */
const PHASE_CREATES = 4;

/** Waits until the load has created some more tasks, and checks that no request failed. */
async function assertGoodput(load: UpgradeLoad, state: string): Promise<void> {
  const before = load.accepted();
  await until(
    async () => load.accepted(),
    (count) => count >= before + PHASE_CREATES || load.failures().length > 0,
  );
  assert.deepEqual(load.failures(), [], state);
}

const run = promisify(execFile);

/** The packages of this tree, but the previous version's own workspaces. */
async function linkPackages(folder: string): Promise<void> {
  const packages = path.join(ROOT, 'node_modules');
  await mkdir(folder);
  for (const entry of await readdir(packages, { withFileTypes: true })) {
    const here = path.join(packages, entry.name);
    const target = entry.isSymbolicLink() ? await readlink(here) : here;
    await symlink(target, path.join(folder, entry.name));
  }
}

/** @returns the program of a commit, in a worktree beside this one's packages */
async function checkOut(
  cleanup: AsyncDisposableStack,
  commit: string,
  parent: string,
): Promise<string[]> {
  const baseline = `${commit}:server/migrations/0001_baseline.sql`;
  await run('git', ['cat-file', '-e', baseline], { cwd: ROOT }).catch(() =>
    assert.fail(
      `FRAMEWRIGHT_PREVIOUS: ${commit} is from before 1.0.0 (or no commit): no upgrade begins there`,
    ),
  );
  const tree = path.join(parent, 'previous');
  await run('git', ['worktree', 'add', '--detach', tree, commit], { cwd: ROOT });
  cleanup.defer(async () => {
    await run('git', ['worktree', 'remove', '--force', tree], { cwd: ROOT });
  });
  await linkPackages(path.join(tree, 'node_modules'));
  return [path.join(tree, 'server/src/framewright.ts'), 'serve'];
}

/** Makes API keys with the commands of a program: its schema is not the one of this program. */
async function makeKeys(program: string[], env: Record<string, string>): Promise<string[]> {
  const command = async (...words: string[]) => {
    const args = [program[0] ?? '', ...words, '--json'];
    const { stdout } = await run(process.execPath, args, { env: serviceEnvironment(env) });
    return JSON.parse(stdout);
  };
  const { account_id: id } = await command('accounts', 'create', 'ada@example.com');
  const grant = ['--kind', 'paid', '--reference', 'first'];
  await command('credits', 'grant', id, '100000', ...grant);
  const secrets: string[] = [];
  while (secrets.length < KEYS) secrets.push((await command('keys', 'create', id)).secret);
  return secrets;
}

const PREVIOUS = process.env.FRAMEWRIGHT_PREVIOUS;

test('processes of a previous commit and of this one serve side by side', {
  skip: PREVIOUS === undefined && 'set FRAMEWRIGHT_PREVIOUS to a commit that is to be upgraded',
}, async (t) => {
  const { database, env, folder, cleanup, start, startLoad } = await openDeployment(t);
  const previous = await checkOut(cleanup, PREVIOUS ?? '', folder);
  await sql(database.db, 'drop schema public cascade');
  await sql(database.db, 'create schema public');
  const oldApi = await start({ ROLES: 'api' }, previous);
  const oldWorker = await start({ ROLES: 'worker' }, previous);
  const keys = await makeKeys(previous, env);
  const newKey = async () => keys.pop() ?? assert.fail('the load needs more keys');
  const load = startLoad([oldApi.url], newKey);
  await assertGoodput(load, 'on the previous version');
  const newApi = await start({ ROLES: 'api' }); // migrates
  await assertGoodput(load, 'previous processes on the new schema');
  await load.use([oldApi.url, newApi.url]);
  await assertGoodput(load, 'both APIs, the worker of the previous version');
  const restarted = await start({ ROLES: 'api' }, previous);
  await load.use([restarted.url, newApi.url]);
  await oldApi.kill('SIGTERM');
  await start({ ROLES: 'worker' });
  await assertGoodput(load, 'both APIs, both workers');
  await load.use([newApi.url]);
  await restarted.kill('SIGTERM');
  await oldWorker.kill('SIGTERM');
  await assertGoodput(load, 'on this version');
  t.diagnostic(`slowest request: ${load.slowest().toFixed(2)} s`);
  await load.stop();
  assert.deepEqual(await audit(database.db), { ok: true, problems: [] });
});
