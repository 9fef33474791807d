import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { UsageError } from '../errors.ts';
import { randomBase62 } from '../ids.ts';
import { type Account, commandAs, lastWords } from './account.ts';
import type { Binaries } from './binaries.ts';
import type { DatabaseFolder } from './folder.ts';

/** The superuser that initdb makes, and the one the service connects as. */
export const ROLE = 'framewright';

/**
 * Makes the cluster if there is none: UTF-8, locale C, passwords by SCRAM only. It is made under
 * another name and renamed when whole, so that a killed start leaves nothing half made.
 * @returns true when it was made just now
 * @throws UsageError with initdb's last words
 */
export async function ensureCluster(
  folder: DatabaseFolder,
  account: Account,
  binaries: Binaries,
  durable: boolean,
): Promise<boolean> {
  if (existsSync(join(folder.cluster, 'PG_VERSION'))) return false;
  await removeUnfinished(folder);
  await ensurePassword(folder, account);
  // A fresh name, because an initdb whose starter was killed may still write under the old one.
  const unfinished = `${folder.cluster}.new-${randomUUID()}`;
  const flags = [`--pwfile=${folder.password}`, '-U', ROLE, '-A', 'scram-sha-256'];
  const encoding = ['-E', 'UTF8', '--locale=C', ...(durable ? [] : ['--no-sync'])];
  const { file, args, options } = commandAs(
    account,
    [binaries.initdb, '-D', unfinished, ...flags, ...encoding],
    folder.path,
  );
  await promisify(execFile)(file, args, options).catch((error: unknown) => {
    throw new UsageError(
      `the embedded database can't be made: ${lastWords(error)} (or set DATABASE_URL)`,
    );
  });
  await rename(unfinished, folder.cluster);
  await syncFolder(folder.path);
  return true;
}

/** The role's password. @throws UsageError when the file is not there */
export async function readPassword(folder: DatabaseFolder): Promise<string> {
  const text = await readFile(folder.password, 'utf8').catch((error: unknown) => {
    throw new UsageError(`the embedded database's password can't be read: ${String(error)}`);
  });
  return text.trim();
}

async function ensurePassword(folder: DatabaseFolder, account: Account): Promise<void> {
  if (existsSync(folder.password)) return;
  const unfinished = `${folder.password}.new-${randomUUID()}`;
  const file = await open(unfinished, 'wx', 0o600);
  try {
    if (account.kind !== 'self') await file.chown(account.uid, account.gid);
    await file.writeFile(`${randomBase62(32)}\n`);
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

async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r');
  await handle.sync().finally(() => handle.close());
}
