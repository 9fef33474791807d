import { existsSync } from 'node:fs';
import { mkdir, realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { codeOf, EmbeddedPostgresError } from './error.ts';

export type DatabaseFolder = Awaited<ReturnType<typeof makeFolder>>;

const SUBFOLDER = 'postgres';

/** @throws EmbeddedPostgresError when nobody has opened a database in the data folder before */
export function requireFolder(dataDir: string): void {
  if (existsSync(join(dataDir, SUBFOLDER))) return;
  throw new EmbeddedPostgresError(
    `there is no database in ${resolve(dataDir)}. Run the command in the folder where the ` +
      'service was started, with its DATA_DIR or DATABASE_URL.',
  );
}

/**
 * Creates the data folder and the database's folder in it. Other OS users can enter a data folder
 * created by root, but not list it: one of them runs Postgres.
 * @throws EmbeddedPostgresError when they can't be created
 */
export async function makeFolder(dataDir: string) {
  const mode = process.getuid?.() === 0 ? 0o711 : 0o700;
  const path = await makePath(dataDir, mode).catch((error: unknown) => {
    throw new EmbeddedPostgresError(`the data folder ${dataDir} can't be used: ${String(error)}`);
  });
  return {
    path,
    /** The data directory of Postgres; it exists only when it is complete. */
    cluster: join(path, 'cluster'),
    /** The password of the role `framewright`, mode 0600. */
    password: join(path, 'password'),
    /** The file locked while a process opens or closes the database; see `lock.ts`. */
    lock: join(path, 'lock'),
    /** The named pipe that every member process keeps open; see `membership.ts`. */
    pipe: join(path, 'users'),
    /** The log of Postgres; with its backup it stays below about twice `MAX_LOG_BYTES`. */
    log: join(path, 'postgres.log'),
  };
}

async function makePath(dataDir: string, mode: number): Promise<string> {
  await makeFolders(resolve(dataDir), mode);
  const path = join(await realpath(dataDir), SUBFOLDER);
  await makeFolders(path, 0o700);
  return path;
}

/**
 * Creates a folder and its missing parents. Node's own recursive mkdir never ends in a folder such
 * as /proc, where mkdir fails with ENOENT although the parent exists.
 */
export async function makeFolders(path: string, mode: number): Promise<void> {
  if ((await stat(path).catch(() => undefined))?.isDirectory()) return;
  if (dirname(path) !== path) await makeFolders(dirname(path), mode);
  await mkdir(path, { mode }).catch((error: unknown) => {
    if (codeOf(error) !== 'EEXIST') throw error;
  });
}

export async function ownerOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.uid;
}
