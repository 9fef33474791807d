import { existsSync } from 'node:fs';
import { lchown, rm } from 'node:fs/promises';
import { type Account, chooseAccount, refuseForeignFolder } from './embedded/account.ts';
import { type Binaries, findBinaries } from './embedded/binaries.ts';
import { ensureCluster } from './embedded/cluster.ts';
import { type DatabaseFolder, makeFolder } from './embedded/folder.ts';
import {
  guardGone,
  hasGuard,
  hasUsers,
  joinGuarded,
  joinUnguarded,
  type Lease,
  makePipe,
} from './embedded/lease.ts';
import { takeLock } from './embedded/lock.ts';
import { disarmPidFile, findPostmaster, readPostmaster, stop } from './embedded/postmaster.ts';
import { type Reached, reachServer } from './embedded/reach.ts';
import { freePort, isFree, startServer } from './embedded/start.ts';
import { watchServer } from './embedded/watch.ts';
import { UsageError } from './errors.ts';
import type { Log } from './log.ts';

export interface EmbeddedDatabase {
  /** Superuser `framewright` on 127.0.0.1, database `postgres`, password included. */
  url: string;
  /** True when this call started the server; false when it was running already. */
  startedHere: boolean;
  /** True when the cluster was made just now. */
  created: boolean;
  /**
   * Leaves; the last user to leave stops the server and waits until it is gone. Can be called
   * twice, and when the server is gone already. End your connections first.
   */
  close(): Promise<void>;
  /** Calls the listener, once, when the server ends although we still use it (within 2 s). */
  onExit(listener: (cause: string) => void): void;
}

export interface EmbeddedDatabaseOptions {
  /** The service's data folder (`DATA_DIR`); the database takes `postgres/` in it. */
  dataDir: string;
  log: Log;
  /** Postgres settings beside ours, such as `{ fsync: 'off' }` for tests. */
  settings?: Record<string, string>;
}

/** Longer than initdb and the recovery of `max_wal_size` take on a slow disk. */
const PATIENCE_SECONDS = 300;
/** The guard ends within milliseconds of its server. */
const GUARD_SECONDS = 5;
const START_TRIES = 3;

interface Site {
  folder: DatabaseFolder;
  account: Account;
  binaries: Binaries;
  settings: Record<string, string>;
}

interface Opened extends Reached {
  lease: Lease;
  startedHere: boolean;
  created: boolean;
}

/**
 * Opens the database in the data folder: joins the server that runs there, else starts one, after
 * making the cluster if there is none. Any number of processes may have it open; the server
 * belongs to none of them and stops when the last one has closed it or died (see
 * `embedded/lease.ts` for how that is known). Opening and closing take turns, across processes.
 * @throws UsageError, one line, for what an operator can mend
 */
export async function openEmbeddedDatabase(
  options: EmbeddedDatabaseOptions,
): Promise<EmbeddedDatabase> {
  const binaries = await findBinaries();
  const folder = await makeFolder(options.dataDir);
  await refuseForeignFolder(folder);
  const opened = await inTurn(folder, async () => {
    const account = await chooseAccount(folder, binaries);
    if (account.kind !== 'self') await lchown(folder.lock, account.uid, account.gid);
    const site = { folder, account, binaries, settings: options.settings ?? {} };
    return { site, ...(await joinOrStart(site)) };
  });
  const { site, lease, url, startedHere, created, port, pid } = opened;
  // Operator commands join for a moment: only a start is news.
  const level = startedHere ? 'info' : 'debug';
  options.log[level]({ folder: folder.path, port, created }, 'embedded database open');
  const watch = watchServer({ folder, account: site.account, pid, log: options.log });
  let closing: Promise<void> | undefined;
  return {
    url,
    startedHere,
    created,
    onExit: watch.onExit,
    close: () => {
      watch.end();
      closing ??= leave(folder, lease);
      return closing;
    },
  };
}

async function inTurn<T>(folder: DatabaseFolder, work: () => Promise<T>): Promise<T> {
  const giveBack = await takeLock(folder.lock, PATIENCE_SECONDS);
  try {
    return await work();
  } finally {
    giveBack();
  }
}

async function joinOrStart(site: Site): Promise<Opened> {
  // A server met while it was stopping is waited out, and then there is none to join.
  for (;;) {
    const joined = await join(site);
    if (joined === 'gone') continue;
    if (joined !== 'none') return { ...joined, startedHere: false, created: false };
    return start(site);
  }
}

async function join(site: Site): Promise<(Reached & { lease: Lease }) | 'gone' | 'none'> {
  const { folder } = site;
  const lease = (await joinGuarded(folder, PATIENCE_SECONDS)) ?? (await joinLeftover(site));
  if (lease === undefined) return 'none';
  const isAlive = async () =>
    lease.isGuarded ? hasGuard(folder) : (await findPostmaster(folder)) !== undefined;
  return releasingOnFailure(lease, async () => {
    const reached = await reachServer(folder, isAlive, PATIENCE_SECONDS);
    if (reached !== undefined) return { ...reached, lease };
    lease.release();
    return 'gone';
  });
}

/** A server that runs although its guard was killed. */
async function joinLeftover({ folder, account }: Site): Promise<Lease | undefined> {
  if ((await findPostmaster(folder)) === undefined) return undefined;
  await makePipe(folder, account);
  return joinUnguarded(folder);
}

async function start(site: Site): Promise<Opened> {
  const { folder, account, binaries, settings } = site;
  const created = await ensureCluster(folder, account, binaries, settings.fsync !== 'off');
  const stale = await readPostmaster(folder);
  await disarmPidFile(folder, account);
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort(stale?.port ?? 0);
    const startup = await startServer({ ...site, port });
    const reached = await releasingOnFailure(startup.lease, () =>
      reachServer(folder, startup.isAlive, PATIENCE_SECONDS),
    );
    if (reached) return { ...reached, lease: startup.lease, startedHere: true, created };
    startup.lease.release();
    // Somebody may have taken the port since we looked; then another one will do.
    if (attempt < START_TRIES && !(await isFree(port))) continue;
    const cause = (await startup.lastWords()) || 'it said nothing';
    throw new UsageError(`the embedded database did not start: ${cause} (${folder.log})`);
  }
}

async function releasingOnFailure<T>(lease: Lease, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    lease.release();
    throw error;
  }
}

async function leave(folder: DatabaseFolder, lease: Lease): Promise<void> {
  // Somebody removed the folder under us: leaving tells the guard, which needs no folder.
  if (!existsSync(folder.path)) return lease.release();
  await inTurn(folder, async () => {
    lease.release();
    if (hasUsers(folder)) return;
    const server = await findPostmaster(folder);
    if (server !== undefined) await stop(server.pid, folder);
    await guardGone(folder, GUARD_SECONDS);
    await rm(folder.users, { force: true }); // programs that copy the folder would block on it
  }).catch((error: unknown) => {
    lease.release();
    throw error;
  });
}
