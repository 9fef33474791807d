import { existsSync } from 'node:fs';
import { lchown, rm } from 'node:fs/promises';
import { type Binaries, findBinaries } from './binaries.ts';
import { ensureCluster } from './cluster.ts';
import { EmbeddedPostgresError, forOperators } from './error.ts';
import { type DatabaseFolder, makeFolder, makeFolders, requireFolder } from './folder.ts';
import { takeLock } from './lock.ts';
import {
  hasGuard,
  hasMembers,
  joinGuarded,
  type Membership,
  waitForGuardExit,
} from './membership.ts';
import { chooseOsUser, type OsUser, refuseForeignFolder } from './os-user.ts';
import { findPostmaster, neutralizePidFile, readPostmaster, stop } from './postmaster.ts';
import { type ReachedServer, reachServer } from './reach.ts';
import { freePort, isFree, startServer } from './start.ts';
import { type EmbeddedPostgresLog, watchServer } from './watch.ts';

export { EmbeddedPostgresError, makeFolders };

export interface EmbeddedDatabase {
  /** Database `postgres` on 127.0.0.1 as the superuser `framewright`, with its password. */
  url: string;
  startedHere: boolean;
  created: boolean;
  /**
   * Detaches this process. The last member stops the server and waits until it is gone. Can be called
   * twice, and after the server has ended. Close your connections first.
   */
  close(): Promise<void>;
  /** Resolves with the cause, within 2 s, when the server ends before `close` was called. */
  exited: Promise<string>;
}

export interface EmbeddedDatabaseOptions {
  /** The service's data folder. The database uses its subfolder `postgres/`. */
  dataDir: string;
  log: EmbeddedPostgresLog;
  /** Postgres settings that override the defaults, such as `{ fsync: 'off' }` for tests. */
  settings?: Record<string, string>;
  mustExist?: boolean;
}

/** Longer than initdb and the recovery of `max_wal_size` take on a slow disk. */
const TIMEOUT_SECONDS = 300;
/** The guard ends within milliseconds after its server. */
const GUARD_TIMEOUT_SECONDS = 5;
const MAX_START_ATTEMPTS = 3;

interface Site {
  folder: DatabaseFolder;
  osUser: OsUser;
  binaries: Binaries;
  settings: Record<string, string>;
}

interface Opened extends ReachedServer {
  membership: Membership;
  startedHere: boolean;
  created: boolean;
}

/**
 * Opens the database in the data folder: joins the server that already runs there, or starts one.
 * The server stops when the last process that has it open has closed it or died (`membership.ts`).
 * Under a lock, only one process at a time opens or closes the database.
 * @throws EmbeddedPostgresError, with one line, for a problem that an operator can fix
 */
export function openEmbeddedDatabase(options: EmbeddedDatabaseOptions): Promise<EmbeddedDatabase> {
  return openOrJoin(options).catch((error: unknown) => {
    throw forOperators(error, options.dataDir);
  });
}

async function openOrJoin(options: EmbeddedDatabaseOptions): Promise<EmbeddedDatabase> {
  const binaries = await findBinaries();
  if (options.mustExist) requireFolder(options.dataDir);
  const folder = await makeFolder(options.dataDir);
  await refuseForeignFolder(folder);
  const opened = await withLock(folder, async () => {
    const osUser = await chooseOsUser(folder, binaries);
    if (osUser.kind !== 'self') await lchown(folder.lock, osUser.uid, osUser.gid);
    const site = { folder, osUser, binaries, settings: options.settings ?? {} };
    return { site, ...(await joinOrStart(site)) };
  });
  const { site, membership, url, startedHere, created, port, pid } = opened;
  // Operator commands join for a moment, so only a start is logged at info.
  const level = startedHere ? 'info' : 'debug';
  options.log[level]({ folder: folder.path, port, created }, 'embedded database open');
  const watch = watchServer({ folder, osUser: site.osUser, pid, log: options.log });
  let closing: Promise<void> | undefined;
  const close = () => {
    watch.end();
    closing ??= leaveOrStop(folder, membership);
    return closing;
  };
  return { url, startedHere, created, exited: watch.exited, close };
}

async function withLock<T>(folder: DatabaseFolder, work: () => Promise<T>): Promise<T> {
  const unlock = await takeLock(folder.lock, TIMEOUT_SECONDS);
  return work().finally(unlock);
}

async function joinOrStart(site: Site): Promise<Opened> {
  const { folder } = site;
  for (;;) {
    const membership = await joinGuarded(folder, TIMEOUT_SECONDS);
    if (membership === undefined) return start(site);
    const reached = await reach(folder, membership, () => hasGuard(folder));
    if (reached) return { ...reached, membership, startedHere: false, created: false };
    // The server was stopping and is gone: the next round finds none.
  }
}

/** Stops a server that nothing else would stop: its guard was killed. */
async function stopUnguarded(folder: DatabaseFolder): Promise<void> {
  const server = await findPostmaster(folder);
  if (server === undefined) return;
  if (hasMembers(folder)) {
    throw new EmbeddedPostgresError(
      `the guard of the database in ${folder.path} was killed: restart the service`,
    );
  }
  await stop(server.pid, folder);
}

async function start(site: Site): Promise<Opened> {
  const { folder, osUser, binaries, settings } = site;
  await stopUnguarded(folder);
  const created = await ensureCluster(folder, osUser, binaries, settings.fsync !== 'off');
  const stale = await readPostmaster(folder);
  await neutralizePidFile(folder, osUser);
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort(stale?.port ?? 0);
    const startup = await startServer({ ...site, port });
    const { membership, isAlive } = startup;
    const reached = await reach(folder, membership, isAlive);
    if (reached) return { ...reached, membership, startedHere: true, created };
    // Another program may have taken the port since it was found free: retry on another port.
    if (attempt < MAX_START_ATTEMPTS && !(await isFree(port))) continue;
    const cause = (await startup.lastLogLines()) || 'it wrote no log';
    throw new EmbeddedPostgresError(
      `the embedded database did not start: ${cause} (${folder.log})`,
    );
  }
}

/** Waits for the server. If it is gone or can't be used, ends the membership. */
async function reach(folder: DatabaseFolder, membership: Membership, isAlive: () => boolean) {
  let reached: ReachedServer | undefined;
  try {
    reached = await reachServer(folder, isAlive, TIMEOUT_SECONDS);
  } finally {
    if (!reached) membership.leave();
  }
  return reached;
}

async function leaveOrStop(folder: DatabaseFolder, membership: Membership): Promise<void> {
  // If the folder was removed, closing the pipe still makes the guard stop the server.
  if (!existsSync(folder.path)) return membership.leave();
  await withLock(folder, async () => {
    membership.leave();
    if (hasMembers(folder)) return;
    const server = await findPostmaster(folder);
    if (server !== undefined) await stop(server.pid, folder);
    await waitForGuardExit(folder, GUARD_TIMEOUT_SECONDS);
    // Otherwise, a program that copies the folder would block on the pipe.
    await rm(folder.pipe, { force: true });
  }).catch((error: unknown) => {
    membership.leave();
    throw error;
  });
}
