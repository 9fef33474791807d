import { execFile } from 'node:child_process';
import { readFile, readlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { codeOf } from './error.ts';
import type { DatabaseFolder } from './folder.ts';
import { type OsUser, PROGRAM_ENVIRONMENT, shellAs } from './os-user.ts';

const FAST_SHUTDOWN_TIMEOUT_SECONDS = 60;

/** The content of `postmaster.pid` (Postgres source, `miscadmin.h`, LOCK_FILE_LINE_*). */
export interface Postmaster {
  pid: number;
  /** 0 until the server has written it. */
  port: number;
  isReady: boolean;
}

/** Reads `postmaster.pid`, whether or not its process still runs. */
export async function readPostmaster(folder: DatabaseFolder): Promise<Postmaster | undefined> {
  const text = await readFile(join(folder.cluster, 'postmaster.pid'), 'utf8').catch(() => '');
  const [pid, , , port, , , , status] = text.split('\n');
  if (!Number(pid)) return undefined;
  return { pid: Number(pid), port: Number(port ?? 0), isReady: status?.trim() === 'ready' };
}

/** The running server of this folder, if its process can be seen from this system or container. */
export async function findPostmaster(folder: DatabaseFolder): Promise<Postmaster | undefined> {
  const found = await readPostmaster(folder);
  return found && (await isPostmaster(found.pid, folder)) ? found : undefined;
}

/**
 * Stops a server and waits until it is gone. Asks for a fast shutdown, and after a minute for an
 * immediate one: the next start then recovers.
 */
export async function stop(pid: number, folder: DatabaseFolder): Promise<void> {
  const deadline = performance.now() + FAST_SHUTDOWN_TIMEOUT_SECONDS * 1000;
  signal(pid, 'SIGINT');
  let isImmediate = false;
  while (await isPostmaster(pid, folder)) {
    if (!isImmediate && performance.now() > deadline) {
      isImmediate = true;
      signal(pid, 'SIGQUIT');
    }
    await delay(10);
  }
}

function signal(pid: number, name: 'SIGINT' | 'SIGQUIT'): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error;
  }
}

/**
 * Makes Postgres ignore a `postmaster.pid` whose pid now belongs to another program. The file stays:
 * its seventh line names the shared memory that backends of a killed server may still use.
 */
export async function neutralizePidFile(folder: DatabaseFolder, osUser: OsUser): Promise<void> {
  const impossible = 2 ** 31 - 2; // above the largest possible pid: 2^22 on Linux
  const rewrite = `{ echo ${impossible}; sed -n 2,7p postmaster.pid; } >stale.pid`;
  // Postgres refuses to start on an empty file, which a power failure can leave: remove it.
  const script = `cd "$1" && if test -s postmaster.pid
    then ${rewrite} && mv stale.pid postmaster.pid
    else rm -f postmaster.pid; fi`;
  await shellAs(osUser, script, '/', [folder.cluster]);
}

/** Whether a process is Postgres on this folder, and not another program that reused the pid. */
export async function isPostmaster(pid: number, folder: DatabaseFolder): Promise<boolean> {
  if (process.platform !== 'linux') return (await commandLine(pid)).includes(folder.cluster);
  const argv = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
  if (argv[0] === '') return isExiting(pid);
  if (basename(argv[0] ?? '') !== 'postgres') return false;
  // A server that was started by hand may have the folder under another path in its arguments.
  const workingFolder = readlink(`/proc/${pid}/cwd`).catch(() => undefined);
  return argv.includes(folder.cluster) || (await workingFolder) === folder.cluster;
}

/** An exiting Postgres has no arguments any more but still holds its shared memory. */
async function isExiting(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return /^\d+ \(postgres\) [^ZX]/.test(status);
}

async function commandLine(pid: number): Promise<string> {
  const args = ['-o', 'command=', '-p', String(pid)];
  const ps = promisify(execFile)('ps', args, { env: PROGRAM_ENVIRONMENT });
  const { stdout } = await ps.catch(() => ({ stdout: '' }));
  return stdout.includes('postgres') ? stdout : '';
}
