import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { UsageError } from '../errors.ts';
import { type Account, lastWords, shellAs } from './account.ts';
import type { DatabaseFolder } from './folder.ts';

/**
 * Who uses the database is known to the kernel alone: each user holds the named pipe `users` open
 * for writing, and the guard beside Postgres (see `start.ts`) reads it. A user who dies, however
 * he dies, leaves by that; the last one's leaving is the guard's end of file, and it stops
 * Postgres. So no pid is compared, no lease goes stale, and Postgres does not hang on whoever
 * happened to start it. Joining and leaving happen under the lock (`lock.ts`), so that "the last"
 * is exact; a guard that saw its end of file before we joined does not answer us.
 */
export interface Lease {
  /** True when a guard answered: it will stop Postgres once all users are gone. */
  isGuarded: boolean;
  /** Can be called twice. */
  release(): void;
}

/** Makes the named pipe, if there is none. @throws UsageError where the file system has none */
export async function makePipe(folder: DatabaseFolder, account: Account): Promise<void> {
  const make = 'test -p "$1" || { rm -rf "$1" && mkfifo -m 600 "$1"; }';
  await shellAs(account, make, folder.path, [folder.users]).catch((error: unknown) => {
    throw new UsageError(`no named pipe can be made in ${folder.path}: ${lastWords(error)}`);
  });
}

/** The starter's lease and, for its guard, the reading end. The caller closes the reading end. */
export function openBothEnds(folder: DatabaseFolder): { lease: Lease; readingEnd: number } {
  // Opening one end blocks until somebody has the other; opening both at once never does.
  const both = openPipe(folder, constants.O_RDWR | constants.O_NONBLOCK);
  try {
    const readingEnd = openPipe(folder, constants.O_RDONLY);
    return { lease: leaseOn(openPipe(folder, constants.O_WRONLY), true), readingEnd };
  } finally {
    closeSync(both);
  }
}

/**
 * Joins the users under a guard that confirms to count us.
 * @returns undefined when there is no guard, or it is about to end or ended while we asked
 */
export async function joinGuarded(
  folder: DatabaseFolder,
  timeoutSeconds: number,
): Promise<Lease | undefined> {
  const deadline = performance.now() + timeoutSeconds * 1000;
  const writingEnd = openWritingEnd(folder);
  if (writingEnd === undefined) return undefined;
  const token = randomUUID();
  const answer = join(folder.path, `joined-${token}`);
  try {
    let isHeard = tryWrite(writingEnd, `${token}\n`);
    while (!existsSync(answer)) {
      isHeard &&= hasGuard(folder);
      if (!isHeard) {
        closeSync(writingEnd);
        return undefined;
      }
      if (performance.now() > deadline) {
        throw new UsageError(`the database in ${folder.path} neither answers nor stops`);
      }
      await delay(5);
    }
    return leaseOn(writingEnd, true);
  } catch (error) {
    closeSync(writingEnd);
    throw error;
  } finally {
    await rm(answer, { force: true });
  }
}

/** @returns false when the reader has ended since the pipe was opened */
function tryWrite(writingEnd: number, text: string): boolean {
  try {
    writeSync(writingEnd, text);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EPIPE') return false;
    throw error;
  }
}

/** Joins the users of a server whose guard was killed: they count, but the last must stop it. */
export function joinUnguarded(folder: DatabaseFolder): Lease {
  const { lease, readingEnd } = openBothEnds(folder);
  closeSync(readingEnd);
  return { ...lease, isGuarded: false };
}

/** Whether anybody else holds a lease. Asked under the lock, after giving back one's own. */
export function hasUsers(folder: DatabaseFolder): boolean {
  if (!existsSync(folder.users)) return false;
  const readingEnd = openPipe(folder, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    // Bytes left by one who died while joining count as nothing: read on.
    while (readSync(readingEnd, Buffer.alloc(512)) > 0);
    return false;
  } catch (error) {
    if (codeOf(error) === 'EAGAIN') return true;
    throw error;
  } finally {
    closeSync(readingEnd);
  }
}

/** Whether a guard reads the pipe, here or in a container that shares the folder. */
export function hasGuard(folder: DatabaseFolder): boolean {
  const probe = openWritingEnd(folder);
  if (probe !== undefined) closeSync(probe);
  return probe !== undefined;
}

/** Waits until no guard reads the pipe, for a bounded time: nothing depends on its end. */
export async function guardGone(folder: DatabaseFolder, timeoutSeconds: number): Promise<void> {
  const deadline = performance.now() + timeoutSeconds * 1000;
  while (hasGuard(folder) && performance.now() < deadline) await delay(5);
}

function openWritingEnd(folder: DatabaseFolder): number | undefined {
  try {
    return openPipe(folder, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === 'ENXIO' || codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function openPipe(folder: DatabaseFolder, flags: number): number {
  const end = openSync(folder.users, flags | constants.O_NOFOLLOW);
  if (fstatSync(end).isFIFO()) return end;
  closeSync(end);
  throw new Error(`${folder.users} is not a named pipe`);
}

function leaseOn(writingEnd: number, isGuarded: boolean): Lease {
  let isHeld = true;
  const release = () => {
    if (isHeld) closeSync(writingEnd);
    isHeld = false;
  };
  return { isGuarded, release };
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
