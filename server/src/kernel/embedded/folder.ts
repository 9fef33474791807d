import { mkdir, realpath, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { UsageError } from '../errors.ts';

/** Where everything of the embedded database lies: `<data folder>/postgres/`. */
export interface DatabaseFolder {
  path: string;
  /** Postgres' own data directory; absent until it was made whole. */
  cluster: string;
  /** The password of the role `framewright`, mode 0600. */
  password: string;
  /** Held by whoever is opening, starting or closing; see `lock.ts`. */
  lock: string;
  /** The named pipe its users hold open; see `lease.ts`. */
  users: string;
  /** What Postgres says; kept under two times `LOG_BYTES`. */
  log: string;
}

/**
 * Makes the data folder and the database's folder in it where they are missing.
 * As root others may pass through a new data folder (not list it), so that the unprivileged user
 * who runs Postgres reaches his part of it.
 * @throws UsageError when they can't be made
 */
export async function makeFolder(dataDir: string): Promise<DatabaseFolder> {
  const mode = process.getuid?.() === 0 ? 0o711 : 0o700;
  const path = await makePath(dataDir, mode).catch((error: unknown) => {
    throw new UsageError(`the data folder ${dataDir} can't be used: ${String(error)}`);
  });
  return {
    path,
    cluster: join(path, 'cluster'),
    password: join(path, 'password'),
    lock: join(path, 'lock'),
    users: join(path, 'users'),
    log: join(path, 'postgres.log'),
  };
}

async function makePath(dataDir: string, mode: number): Promise<string> {
  await mkdir(resolve(dataDir), { recursive: true, mode });
  const path = join(await realpath(dataDir), 'postgres');
  await mkdir(path, { recursive: true, mode: 0o700 });
  return path;
}

/** The user id that owns a file or folder; `undefined` when there is none. */
export async function ownerOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.uid;
}
