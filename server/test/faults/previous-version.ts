import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readdir, readlink, symlink } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { createTestDatabase } from '../database.ts';
import { ROOT } from '../repository/sources.ts';
import { serviceEnvironment, startServiceProcess } from '../service/service-process.ts';
import { sql } from '../task-fixtures.ts';
import { temporaryFolder } from '../temporary-folder.ts';

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

/** Makes two API keys with the commands of a program: its schema is not the one of this program. */
export async function makeKeys(program: string[], env: Record<string, string>): Promise<string[]> {
  const command = async (...words: string[]) => {
    const args = [program[0] ?? '', ...words, '--json'];
    const { stdout } = await run(process.execPath, args, { env: serviceEnvironment(env) });
    return JSON.parse(stdout);
  };
  const { account_id: id } = await command('accounts', 'create', 'ada@example.com');
  const grant = ['--kind', 'paid', '--reference', 'first'];
  await command('credits', 'grant', id, '100000', ...grant);
  const makeKey = async () => (await command('keys', 'create', id)).secret;
  return [await makeKey(), await makeKey()];
}

const PREVIOUS = process.env.FRAMEWRIGHT_PREVIOUS;
/** Of a test that needs FRAMEWRIGHT_PREVIOUS. */
export const UPGRADE = {
  skip: PREVIOUS === undefined && 'set FRAMEWRIGHT_PREVIOUS to a commit that is to be upgraded',
};

/** An empty database without a schema, and the program of the previous version. */
export async function openUpgrade(t: TestContext) {
  const cleanup = new AsyncDisposableStack(); // the last first
  t.after(() => cleanup.disposeAsync());
  const { db, url, close } = await createTestDatabase();
  cleanup.defer(close);
  const { path: folder } = cleanup.use(await temporaryFolder());
  const env = { DATABASE_URL: url, DATA_DIR: path.join(folder, 'data') };
  const previous = await checkOut(cleanup, PREVIOUS ?? '', folder);
  await sql(db, 'drop schema public cascade');
  await sql(db, 'create schema public');
  const start = async (own: Record<string, string>, program?: string[]) =>
    cleanup.use(await startServiceProcess({ ...env, ...own }, program));
  return { db, env, folder, cleanup, previous, start };
}
