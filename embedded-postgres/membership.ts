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
import { codeOf, EmbeddedPostgresError } from './error.ts';
import type { DatabaseFolder } from './folder.ts';
import { lastErrorLines, type OsUser, shellAs } from './os-user.ts';

/**
 * One process that has the database open: a member. Every member keeps the named pipe `users` open
 * for writing, and the guard beside Postgres (see `start.ts`) reads it. The operating system closes
 * the pipe of a member that dies, even by SIGKILL. When the last one is gone, the guard reads end of
 * file and stops Postgres: no pids are compared. Joining and leaving happen under the lock
 * (`lock.ts`), so that exactly one process is the last.
 */
export type Membership = ReturnType<typeof membershipOn>;

/** @throws EmbeddedPostgresError when the file system does not support named pipes */
export async function makePipe(folder: DatabaseFolder, osUser: OsUser): Promise<void> {
  const make = 'test -p "$1" || { rm -rf "$1" && mkfifo -m 600 "$1"; }';
  await shellAs(osUser, make, folder.path, [folder.pipe]).catch((error: unknown) => {
    throw new EmbeddedPostgresError(
      `no named pipe can be created in ${folder.path}: ${lastErrorLines(error)}`,
    );
  });
}

/** Opens a membership and the end of the pipe for the guard, which the caller closes. */
export function openBothEnds(folder: DatabaseFolder) {
  // Opening one end blocks until the other is open; opening both at once does not block.
  const both = openPipe(folder, constants.O_RDWR | constants.O_NONBLOCK);
  try {
    const readingEnd = openPipe(folder, constants.O_RDONLY);
    return { membership: membershipOn(openPipe(folder, constants.O_WRONLY)), readingEnd };
  } finally {
    closeSync(both);
  }
}

/**
 * Joins the members and waits until the guard confirms it.
 * @returns undefined when no guard runs, or when the guard ends before it confirms
 */
export async function joinGuarded(
  folder: DatabaseFolder,
  timeoutSeconds: number,
): Promise<Membership | undefined> {
  const deadline = performance.now() + timeoutSeconds * 1000;
  const writingEnd = openWritingEnd(folder);
  if (writingEnd === undefined) return undefined;
  const membership = membershipOn(writingEnd);
  const token = randomUUID();
  const confirmation = join(folder.path, `joined-${token}`);
  let isConfirmed = false;
  try {
    let isGuarded = tryWrite(writingEnd, `${token}\n`);
    while (!existsSync(confirmation)) {
      isGuarded &&= hasGuard(folder);
      if (!isGuarded) return undefined;
      if (performance.now() > deadline) {
        throw new EmbeddedPostgresError(
          `the guard of the database in ${folder.path} neither answers nor ends`,
        );
      }
      await delay(5);
    }
    isConfirmed = true;
    return membership;
  } finally {
    if (!isConfirmed) membership.leave();
    await rm(confirmation, { force: true });
  }
}

/** @returns false when the reading process has ended since the pipe was opened */
function tryWrite(writingEnd: number, text: string): boolean {
  try {
    writeSync(writingEnd, text);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EPIPE') return false;
    throw error;
  }
}

/** Whether another process is a member. Call it under the lock, after leaving. */
export function hasMembers(folder: DatabaseFolder): boolean {
  if (!existsSync(folder.pipe)) return false;
  const readingEnd = openPipe(folder, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    // Skip bytes that were written by a process that died while joining.
    while (readSync(readingEnd, Buffer.alloc(512)) > 0);
    return false;
  } catch (error) {
    if (codeOf(error) === 'EAGAIN') return true;
    throw error;
  } finally {
    closeSync(readingEnd);
  }
}

/** Whether a guard reads the pipe, on this system or in a container that shares the folder. */
export function hasGuard(folder: DatabaseFolder): boolean {
  const probe = openWritingEnd(folder);
  if (probe !== undefined) closeSync(probe);
  return probe !== undefined;
}

/** Waits until the guard has ended, but not longer than this: nothing depends on it. */
export async function waitForGuardExit(folder: DatabaseFolder, timeoutSeconds: number) {
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
  const end = openSync(folder.pipe, flags | constants.O_NOFOLLOW);
  if (fstatSync(end).isFIFO()) return end;
  closeSync(end);
  throw new Error(`${folder.pipe} is not a named pipe`);
}

function membershipOn(writingEnd: number) {
  let isOpen = true;
  return {
    leave() {
      if (isOpen) closeSync(writingEnd);
      isOpen = false;
    },
  };
}
