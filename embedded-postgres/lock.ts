import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { EmbeddedPostgresError } from './error.ts';

const SQLITE_BUSY = 5;

/**
 * Takes an exclusive lock between processes, which the operating system releases when its holder
 * dies. Node has no file locks, but an exclusive SQLite transaction on an empty file locks it.
 * @returns the function that releases the lock
 * @throws EmbeddedPostgresError when another process held it for `timeoutSeconds`
 */
export async function takeLock(path: string, timeoutSeconds: number): Promise<() => void> {
  const file = new DatabaseSync(path, { timeout: 0 });
  const deadline = performance.now() + timeoutSeconds * 1000;
  try {
    while (!tryLock(file)) {
      if (performance.now() > deadline) {
        const message = `another process held the lock ${path} for ${timeoutSeconds} s`;
        throw new EmbeddedPostgresError(message);
      }
      await delay(20);
    }
  } catch (error) {
    file.close();
    throw error;
  }
  return () => file.close();
}

function tryLock(file: DatabaseSync): boolean {
  try {
    // Nothing is ever written. A journal file would need space on a disk that may be full, and
    // Node's defensive mode ignores OFF.
    file.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return true;
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return false;
    throw error;
  }
}
