import { execFile } from 'node:child_process';
import { chown, lchown, readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { UsageError } from '../errors.ts';
import type { Binaries } from './binaries.ts';
import { type DatabaseFolder, ownerOf } from './folder.ts';

const run = promisify(execFile);

/** The environment of every program started here: nothing of ours, no PG* variable, no locale. */
export const PROGRAM_ENVIRONMENT = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
  TZ: 'UTC',
};

interface UserIds {
  uid: number;
  gid: number;
}

/** The operating system's account that runs Postgres, which refuses to run as root. */
export type Account =
  | { kind: 'self' }
  | ({ kind: 'setuid' } & UserIds)
  /** Keeps the right to pass closed folders, where this account could not reach its own files. */
  | ({ kind: 'capable' } & UserIds);

/** A program and its arguments, with the spawn options that make it run under an account. */
export interface Command {
  file: string;
  args: string[];
  options: { uid?: number; gid?: number; cwd: string; env: Record<string, string> };
}

/** @throws UsageError when an ordinary user opens a database folder that is not his */
export async function refuseForeignFolder(folder: DatabaseFolder): Promise<void> {
  const self = process.getuid?.();
  const owner = await ownerOf(folder.path);
  if (self === 0 || owner === self) return;
  throw new UsageError(`${folder.path} belongs to user ${owner}: run as that user or as root`);
}

/**
 * Chooses who runs Postgres on this folder. An ordinary user: himself. Root: the cluster's owner,
 * so that data made as an ordinary user stays his; without one whoever owns the folder or the data
 * folder, else `postgres` or `nobody`, to whom the folder is then given.
 * @throws UsageError when nobody suitable can reach it
 */
export async function chooseAccount(folder: DatabaseFolder, binaries: Binaries): Promise<Account> {
  if (process.getuid?.() !== 0) {
    await requireWorking({ kind: 'self' }, folder, binaries);
    return { kind: 'self' };
  }
  const owner = await ownerOf(folder.cluster);
  const ids = owner ? await idsOf(folder.cluster) : await unprivilegedIds(folder);
  await giveAway(folder, ids);
  const account: Account = { kind: 'setuid', ...ids };
  if ((await complaint(account, folder, binaries)) === undefined) return account;
  await requireWorking({ kind: 'capable', ...ids }, folder, binaries);
  return { kind: 'capable', ...ids };
}

/** The command that runs a program under an account, in the given working folder. */
export function commandAs(account: Account, argv: [string, ...string[]], cwd: string): Command {
  const [file, ...args] = argv;
  const options = { cwd, env: PROGRAM_ENVIRONMENT };
  switch (account.kind) {
    case 'self':
      return { file, args, options };
    case 'setuid':
      return { file, args, options: { ...options, uid: account.uid, gid: account.gid } };
    case 'capable':
      return { file: 'setpriv', args: [...capableFlags(account), file, ...args], options };
  }
}

/**
 * Runs a line of shell under the account. Whatever writes into the database's folder goes through
 * here: root would follow a link that the account (or who broke into it) put there.
 */
export async function shellAs(
  account: Account,
  script: string,
  cwd: string,
  values: string[] = [],
) {
  const { file, args, options } = commandAs(
    account,
    ['/bin/sh', '-c', script, 'sh', ...values],
    cwd,
  );
  await run(file, args, options);
}

/** The account in words, for messages. */
export function describeAccount(account: Account): string {
  return account.kind === 'self' ? 'this user' : `user ${account.uid}`;
}

function capableFlags({ uid, gid }: UserIds): string[] {
  return [
    `--reuid=${uid}`,
    `--regid=${gid}`,
    '--clear-groups',
    '--inh-caps=-all,+dac_override',
    '--ambient-caps=-all,+dac_override',
    '--securebits=+no_setuid_fixup', // else access(2) forgets the capability
  ];
}

async function requireWorking(account: Account, folder: DatabaseFolder, binaries: Binaries) {
  const cause = await complaint(account, folder, binaries);
  if (cause === undefined) return;
  throw new UsageError(
    `${describeAccount(account)} can't run the embedded Postgres ` +
      `${binaries.postgres} in ${folder.path} (${cause}): ` +
      'move the data folder or the checkout where that user can go, or set DATABASE_URL',
  );
}

/** Why the account can't enter the folder or run the server there; `undefined` when it can. */
async function complaint(account: Account, folder: DatabaseFolder, binaries: Binaries) {
  const look = 'cd "$1" && exec "$2" --version';
  return shellAs(account, look, '/', [folder.path, binaries.postgres]).then(
    () => undefined,
    (error: unknown) => lastWords(error),
  );
}

/** The last lines a failed program said, on one line. */
export function lastWords(error: unknown): string {
  const stderr = error instanceof Error && 'stderr' in error ? String(error.stderr) : '';
  return oneLine(stderr) || oneLine(String(error));
}

/** The last lines of a text, on one line. */
export function oneLine(text: string): string {
  return text
    .trim()
    .split(/\s*\n\s*/)
    .slice(-3)
    .join(' / ');
}

async function idsOf(path: string): Promise<UserIds> {
  const { uid, gid } = await stat(path);
  return { uid, gid };
}

/** Somebody who is not root and has a name: initdb refuses a bare number. */
async function unprivilegedIds(folder: DatabaseFolder): Promise<UserIds> {
  const owners = [await ownerOf(folder.path), await ownerOf(dirname(folder.path))];
  for (const user of [...owners.filter(Boolean).map(String), 'postgres', 'nobody']) {
    const ids = await lookUp(user);
    if (ids !== undefined) return ids;
  }
  throw new UsageError(
    'Postgres refuses to run as root and this system has no user postgres or nobody: ' +
      'run as an ordinary user, or set DATABASE_URL',
  );
}

async function lookUp(user: string): Promise<UserIds | undefined> {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', user]), run('id', ['-g', user])]);
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    return undefined;
  }
}

/** Makes the whole folder the account's, where anything of it is not (made or restored by root). */
async function giveAway(folder: DatabaseFolder, ids: UserIds): Promise<void> {
  const cluster = await ownerOf(folder.cluster);
  const isTheirs = (await ownerOf(folder.path)) === ids.uid && (cluster ?? ids.uid) === ids.uid;
  if (isTheirs) return;
  for (const entry of await readdir(folder.path, { recursive: true })) {
    await lchown(join(folder.path, entry), ids.uid, ids.gid);
  }
  await chown(folder.path, ids.uid, ids.gid);
}
