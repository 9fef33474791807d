import { execFile } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Binaries } from './binaries.ts';
import { EmbeddedPostgresError } from './error.ts';
import type { DatabaseFolder } from './folder.ts';
import { commandAs, lastErrorLines, type OsUser } from './os-user.ts';

/** The superuser that initdb creates and that the service connects as. */
export const ROLE = 'framewright';
const PASSWORD_BYTES = 24;

/**
 * Creates the cluster if it is missing. initdb writes into a folder with a temporary name, so that
 * a killed start leaves no partial cluster.
 * @returns true when this call created it
 * @throws EmbeddedPostgresError with initdb's last output
 */
export async function ensureCluster(
  folder: DatabaseFolder,
  osUser: OsUser,
  binaries: Binaries,
  durable: boolean,
): Promise<boolean> {
  if (existsSync(join(folder.cluster, 'PG_VERSION'))) return false;
  await removeUnfinished(folder);
  await ensurePassword(folder, osUser);
  // A new name each time: if an earlier start was killed, its initdb may still write to its folder.
  const unfinished = `${folder.cluster}.new-${randomUUID()}`;
  const access = [`--pwfile=${folder.password}`, '-U', ROLE, '-A', 'scram-sha-256'];
  const flags = [...access, '-E', 'UTF8', '--locale=C', ...(durable ? [] : ['--no-sync'])];
  const initdb = [binaries.initdb, '-D', unfinished, ...flags] as const;
  const { file, args, options } = commandAs(osUser, initdb, folder.path);
  await promisify(execFile)(file, args, options).catch((error: unknown) => {
    throw new EmbeddedPostgresError(
      `the embedded database can't be created: ${lastErrorLines(error)} (or set DATABASE_URL)`,
    );
  });
  await rename(unfinished, folder.cluster);
  const parent = await open(folder.path, 'r');
  await parent.sync().finally(() => parent.close());
  return true;
}

export async function readPassword(folder: DatabaseFolder): Promise<string> {
  const text = await readFile(folder.password, 'utf8').catch((error: unknown) => {
    throw new EmbeddedPostgresError(
      `the embedded database's password can't be read: ${String(error)}`,
    );
  });
  return text.trim();
}

async function ensurePassword(folder: DatabaseFolder, osUser: OsUser): Promise<void> {
  if (existsSync(folder.password)) return;
  const unfinished = `${folder.password}.new-${randomUUID()}`;
  const file = await open(unfinished, 'wx', 0o600);
  try {
    if (osUser.kind !== 'self') await file.chown(osUser.uid, osUser.gid);
    await file.writeFile(`${randomBytes(PASSWORD_BYTES).toString('base64url')}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(unfinished, folder.password);
}

async function removeUnfinished(folder: DatabaseFolder): Promise<void> {
  for (const name of await readdir(folder.path)) {
    if (!/^(cluster|password)\.new-/.test(name)) continue;
    await rm(join(folder.path, name), { recursive: true, force: true, maxRetries: 10 });
  }
}
