import { stat } from 'node:fs/promises';
import type { DatabaseFolder } from './folder.ts';
import { hasGuard } from './membership.ts';
import { type OsUser, shellAs } from './os-user.ts';
import { isPostmaster, readPostmaster } from './postmaster.ts';

/** The part of the caller's log that is used here; a pino logger fits. */
export interface EmbeddedPostgresLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** A larger log is emptied; its content is kept once, as `postgres.log.1`. */
export const MAX_LOG_BYTES = 8 * 1024 * 1024;
const INTERVAL_SECONDS = 1;

interface WatchOptions {
  folder: DatabaseFolder;
  osUser: OsUser;
  pid: number;
  log: EmbeddedPostgresLog;
}

/** Checks a running server once a second: tells when its process has ended, and limits its log. */
export function watchServer(options: WatchOptions) {
  const exited = Promise.withResolvers<string>();
  let timer: NodeJS.Timeout | undefined;
  let isEnded = false;
  const schedule = () => {
    if (!isEnded) timer = setTimeout(tick, INTERVAL_SECONDS * 1000).unref();
  };
  const tick = async () => {
    if (await isRunning(options)) {
      await rotateLog(options).catch((error: unknown) =>
        options.log.warn({ err: error }, "the embedded database's log could not be rotated"),
      );
      return schedule();
    }
    if (!isEnded) exited.resolve(`the embedded database ended, see ${options.folder.log}`);
  };
  schedule();
  return {
    exited: exited.promise,
    end() {
      isEnded = true;
      clearTimeout(timer);
    },
  };
}

/** From another container that shares the folder, only the guard can be seen, not the process. */
async function isRunning({ folder, pid }: WatchOptions): Promise<boolean> {
  if ((await readPostmaster(folder))?.pid !== pid) return false;
  return hasGuard(folder) || isPostmaster(pid, folder);
}

/** Copies and empties the file instead of renaming it: Postgres keeps the file open to append. */
async function rotateLog({ folder, osUser }: WatchOptions): Promise<void> {
  const { size } = await stat(folder.log);
  if (size <= MAX_LOG_BYTES) return;
  const rotate = 'cp postgres.log postgres.log.1 && : >postgres.log';
  await shellAs(osUser, `umask 077; ${rotate}`, folder.path);
}
