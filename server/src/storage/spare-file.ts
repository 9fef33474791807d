import { access, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Log } from '../kernel/log.ts';
import type { Disk } from './free-space.ts';

const MEGABYTE = 2 ** 20;

/** Enough for Postgres to begin a new file of its log (16 MB) and to extend some tables. */
const SPARE = { share: 0.05, bytes: 32 * MEGABYTE };

/**
 * Keeps a file on the disk of the embedded database, which is deleted when the last byte is taken.
 * Postgres needs space even to delete: without it, no upload could be removed on a full disk.
 * @returns a function to be called with each measurement
 */
export function keepSpareFile(folder: string, log: Log): (disk: Disk) => Promise<void> {
  const file = path.join(folder, 'spare');
  const exists = () =>
    access(file).then(
      () => true,
      () => false,
    );
  return async ({ freeBytes, totalBytes, floors }) => {
    const spareBytes = Math.min(SPARE.bytes, Math.floor(SPARE.share * totalBytes));
    if (freeBytes < spareBytes / 4) {
      if (!(await exists())) return;
      await rm(file, { force: true });
      log.error({ freed: spareBytes }, 'the disk is full: its spare file was deleted');
    } else if (freeBytes > floors.input + spareBytes && !(await exists())) {
      const unfinished = `${file}.${process.pid}`;
      await writeFile(unfinished, Buffer.alloc(spareBytes), { mode: 0o600 });
      await rename(unfinished, file);
    }
  };
}
