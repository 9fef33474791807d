import { execFile } from 'node:child_process';
import { chown, lchown, readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Binaries } from './binaries.ts';
import { EmbeddedPostgresError } from './error.ts';
import { type DatabaseFolder, ownerOf } from './folder.ts';

const run = promisify(execFile);

/** The environment of every program started here, without the caller's PG* and locale variables. */
export const PROGRAM_ENVIRONMENT = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
  TZ: 'UTC',
};

type UserIds = Record<'uid' | 'gid', number>;

/** The OS user that runs Postgres, which refuses to run as root. */
export type OsUser =
  | { kind: 'self' }
  | ({ kind: 'setuid' } & UserIds)
  /** With CAP_DAC_OVERRIDE, because the user may not enter the folder of the data or binaries. */
  | ({ kind: 'capable' } & UserIds);

/** @throws EmbeddedPostgresError when an ordinary OS user opens another user's database folder */
export async function refuseForeignFolder(folder: DatabaseFolder): Promise<void> {
  const self = process.getuid?.();
  const owner = await ownerOf(folder.path);
  if (self === 0 || owner === self) return;
  throw new EmbeddedPostgresError(
    `${folder.path} belongs to user ${owner}: run as that user or as root`,
  );
}

/**
 * Chooses the OS user that runs Postgres on this folder. Ordinary users run it as themselves, root
 * as the cluster's owner. Without a cluster, or if root owns it, root takes the first user that
 * exists: the owner of the database folder or of the data folder if that is not root, `postgres`,
 * `nobody`. That user then owns the database folder.
 * @throws EmbeddedPostgresError when no suitable OS user can reach the folder
 */
export async function chooseOsUser(folder: DatabaseFolder, binaries: Binaries): Promise<OsUser> {
  if (process.getuid?.() !== 0) {
    await requireUsable({ kind: 'self' }, folder, binaries);
    return { kind: 'self' };
  }
  const owner = await ownerOf(folder.cluster);
  const { uid, gid } = owner ? await stat(folder.cluster) : await unprivilegedIds(folder);
  await changeOwner(folder, { uid, gid });
  const osUser: OsUser = { kind: 'setuid', uid, gid };
  if ((await findProblem(osUser, folder, binaries)) === undefined) return osUser;
  await requireUsable({ kind: 'capable', uid, gid }, folder, binaries);
  return { kind: 'capable', uid, gid };
}

export function commandAs(osUser: OsUser, argv: readonly [string, ...string[]], cwd: string) {
  const [file, ...args] = argv;
  const options = { cwd, env: PROGRAM_ENVIRONMENT };
  switch (osUser.kind) {
    case 'self':
      return { file, args, options };
    case 'setuid':
      return { file, args, options: { ...options, uid: osUser.uid, gid: osUser.gid } };
    case 'capable':
      return { file: 'setpriv', args: [...capableFlags(osUser), file, ...args], options };
  }
}

/**
 * Runs a shell script as the OS user. All writes into the cluster and the log use this function:
 * root would follow a symbolic link that this OS user, or an attacker with its rights, put there.
 */
export async function shellAs(osUser: OsUser, script: string, cwd: string, values: string[] = []) {
  const argv = ['/bin/sh', '-c', script, 'sh', ...values] as const;
  const { file, args, options } = commandAs(osUser, argv, cwd);
  await run(file, args, options);
}

function capableFlags({ uid, gid }: UserIds): string[] {
  return [
    `--reuid=${uid}`,
    `--regid=${gid}`,
    '--clear-groups',
    '--inh-caps=-all,+dac_override',
    '--ambient-caps=-all,+dac_override',
    '--securebits=+no_setuid_fixup', // otherwise access(2) ignores the capability
  ];
}

async function requireUsable(osUser: OsUser, folder: DatabaseFolder, binaries: Binaries) {
  const cause = await findProblem(osUser, folder, binaries);
  if (cause === undefined) return;
  const user = osUser.kind === 'self' ? 'this user' : `user ${osUser.uid}`;
  throw new EmbeddedPostgresError(
    `${user} can't run the embedded Postgres ` +
      `${binaries.postgres} in ${folder.path} (${cause}): ` +
      'move the data folder or the checkout to a place that this OS user can enter, ' +
      'or set DATABASE_URL',
  );
}

async function findProblem(osUser: OsUser, folder: DatabaseFolder, binaries: Binaries) {
  const script = 'cd "$1" && exec "$2" --version';
  return shellAs(osUser, script, '/', [folder.path, binaries.postgres]).then(
    () => undefined,
    (error: unknown) => lastErrorLines(error),
  );
}

/** Postgres's errors and hints from a program's standard error, or its last lines, on one line. */
export function lastErrorLines(error: unknown): string {
  const stderr = error instanceof Error && 'stderr' in error ? String(error.stderr) : '';
  const causes = stderr.split('\n').filter((line) => CAUSE.test(line));
  return lastLinesOf(causes.join('\n')) || lastLinesOf(stderr) || lastLinesOf(String(error));
}

const CAUSE = /\b(ERROR|FATAL|PANIC|HINT|initdb: error):/;

export function lastLinesOf(text: string): string {
  const lines = text.trim().split(/\s*\n\s*/);
  return lines.slice(-3).join(' / ');
}

/** An OS user that is not root and has a name, because initdb refuses a uid without a name. */
async function unprivilegedIds(folder: DatabaseFolder): Promise<UserIds> {
  const owners = [await ownerOf(folder.path), await ownerOf(dirname(folder.path))];
  for (const user of [...owners.filter(Boolean).map(String), 'postgres', 'nobody']) {
    const ids = await idsOfUser(user);
    if (ids !== undefined) return ids;
  }
  throw new EmbeddedPostgresError(
    'Postgres refuses to run as root and this system has no user postgres or nobody: ' +
      'run as an ordinary user, or set DATABASE_URL',
  );
}

async function idsOfUser(user: string): Promise<UserIds | undefined> {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', user]), run('id', ['-g', user])]);
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    return undefined;
  }
}

/** Gives the folder and all in it to the OS user, if root created or restored it. */
async function changeOwner(folder: DatabaseFolder, ids: UserIds): Promise<void> {
  const cluster = await ownerOf(folder.cluster);
  const isOwned = (await ownerOf(folder.path)) === ids.uid && (cluster ?? ids.uid) === ids.uid;
  if (isOwned) return;
  for (const entry of await readdir(folder.path, { recursive: true })) {
    await lchown(join(folder.path, entry), ids.uid, ids.gid);
  }
  await chown(folder.path, ids.uid, ids.gid);
}
