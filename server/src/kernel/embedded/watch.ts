import { stat } from 'node:fs/promises';
import type { Log } from '../log.ts';
import { type Account, shellAs } from './account.ts';
import type { DatabaseFolder } from './folder.ts';
import { hasGuard } from './lease.ts';
import { isPostmaster, readPostmaster } from './postmaster.ts';

/** The log is cut above this; the part before is kept once, as `postgres.log.1`. */
export const LOG_BYTES = 8 * 1024 * 1024;
const TICK_SECONDS = 1;

export interface Watch {
  onExit(listener: (cause: string) => void): void;
  end(): void;
}

interface WatchOptions {
  folder: DatabaseFolder;
  account: Account;
  /** The server's process. */
  pid: number;
  log: Log;
}

/**
 * Looks after a running server once a second: tells when its process ended, and keeps its log
 * bounded. Every user does; the server has no other keeper. Does not keep the process alive.
 */
export function watchServer(options: WatchOptions): Watch {
  const listeners: ((cause: string) => void)[] = [];
  let cause: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const again = () => {
    if (!isOver) timer = setTimeout(tick, TICK_SECONDS * 1000).unref();
  };
  const tick = async () => {
    if (await isRunning(options)) {
      await boundLog(options).catch((error: unknown) =>
        options.log.warn({ err: error }, "the database's log could not be cut"),
      );
      return again();
    }
    if (isOver) return;
    cause = `the embedded database ended, see ${options.folder.log}`;
    for (const listener of listeners) listener(cause);
  };
  again();
  return {
    onExit(listener) {
      listeners.push(listener);
      if (cause !== undefined) listener(cause);
    },
    end() {
      isOver = true;
      clearTimeout(timer);
    },
  };
}

/** In a container that shares only the folder the guard can be seen, but not the process. */
async function isRunning({ folder, pid }: WatchOptions): Promise<boolean> {
  if ((await readPostmaster(folder))?.pid !== pid) return false;
  return hasGuard(folder) || isPostmaster(pid, folder);
}

/** Postgres appends to the file it was given, so the file is copied and emptied, not renamed. */
async function boundLog({ folder, account }: WatchOptions): Promise<void> {
  const { size } = await stat(folder.log);
  if (size <= LOG_BYTES) return;
  const cut = 'cp postgres.log postgres.log.1 && : >postgres.log';
  await shellAs(account, `umask 077; ${cut}`, folder.path);
}
