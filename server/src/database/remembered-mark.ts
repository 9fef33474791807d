import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isDiskFull } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import type { Database } from './database.ts';
import { advanceMark, type LineageDeps, type Mark } from './lineage.ts';

/**
 * Makes a function that compares the database with what the workers of a data folder remember of
 * it, and remembers it as it is now. It logs an error while nothing is claimed because of that.
 * While the disk is full the file keeps an older mark, which is true as well.
 * @param deps.dataDir the folder whose file `database-mark.json` outlives a restore
 */
export function rememberMark(
  deps: LineageDeps & { db: Database; log: Log; dataDir: string },
): () => Promise<void> {
  const { db, log, dataDir } = deps;
  const file = path.join(dataDir, 'database-mark.json');
  let known: Mark | undefined;
  let wasRecovering = false;
  return async () => {
    known ??= await readMark(file);
    const result = await advanceMark(db, known, deps);
    if ('recovering' in result) {
      if (!wasRecovering) {
        const text = 'nothing is claimed: the database may have lost commits. ';
        log.error({ cause: result.cause }, `${text}Run "framewright restored"`);
      }
      wasRecovering = true;
      return;
    }
    if (wasRecovering) log.info('the recovery has ended: tasks are claimed again');
    wasRecovering = false;
    known = result.mark;
    await writeMark(file, known).catch((error) => {
      if (!isDiskFull(error)) throw error;
      log.warn({ err: error }, 'the disk is full: the database mark is written later');
    });
  };
}

/** @returns undefined when there is no file, or not a whole one */
async function readMark(file: string): Promise<Mark | undefined> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  try {
    const { epoch, beat } = JSON.parse(text);
    return typeof epoch === 'string' && typeof beat === 'number' ? { epoch, beat } : undefined;
  } catch {
    return undefined;
  }
}

async function writeMark(file: string, mark: Mark): Promise<void> {
  const unfinished = `${file}.${process.pid}`;
  await writeFile(unfinished, JSON.stringify(mark), { flush: true });
  await rename(unfinished, file);
}
