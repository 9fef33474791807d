import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { UsageError } from '../errors.ts';

const SQLITE_BUSY = 5;

/**
 * Takes a lock that only one process at a time can hold and that the kernel gives back when its
 * holder dies, however it dies. Node offers no file lock of its own; SQLite's exclusive
 * transaction on an empty file is one (POSIX record locks), without pids to compare or stale
 * files to judge.
 * @returns the function that gives the lock back
 * @throws UsageError when another process kept it for `timeoutSeconds`
 */
export async function takeLock(path: string, timeoutSeconds: number): Promise<() => void> {
  const file = new DatabaseSync(path, { timeout: 0 });
  const deadline = performance.now() + timeoutSeconds * 1000;
  try {
    while (!isTaken(file)) {
      if (performance.now() > deadline) {
        throw new UsageError(`another process kept ${path} for ${timeoutSeconds} s`);
      }
      await delay(20);
    }
  } catch (error) {
    file.close();
    throw error;
  }
  return () => file.close();
}

function isTaken(file: DatabaseSync): boolean {
  try {
    // Nothing is ever written, so no journal is needed beside the lock.
    file.exec('PRAGMA journal_mode = OFF; BEGIN EXCLUSIVE');
    return true;
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return false;
    throw error;
  }
}
