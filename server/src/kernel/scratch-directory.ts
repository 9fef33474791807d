import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, rm, stat, utimes } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** A process whose folder was not touched for this long counts as dead. */
const LEFTOVER_SECONDS = 600;

/** A local folder for temporary files: downloads before they are checked, renders, outputs. */
export interface ScratchDirectory {
  /** Calls `work` with the path of a new, empty folder, and removes the folder afterwards. */
  withFolder<T>(work: (folder: string) => Promise<T>): Promise<T>;
  /**
   * Touches this process's folder and removes the folders of dead processes. Call it every
   * minute, because a process whose folder was not touched for 10 minutes counts as dead.
   */
  maintain(): Promise<void>;
}

/** Opens a scratch directory under `root`. Processes may share `root`; each has its own folder. */
export function openScratchDirectory(root: string): ScratchDirectory {
  const own = path.join(root, randomUUID());
  return {
    async withFolder(work) {
      const folder = path.join(own, randomUUID());
      await mkdir(folder, { recursive: true, mode: 0o700 });
      try {
        return await work(folder);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
    async maintain() {
      await mkdir(own, { recursive: true, mode: 0o700 });
      await utimes(own, new Date(), new Date());
      await removeLeftovers(root);
    },
  };
}

async function removeLeftovers(root: string): Promise<void> {
  const oldest = Date.now() - LEFTOVER_SECONDS * 1000;
  for (const name of await readdir(root)) {
    const folder = path.join(root, name);
    const facts = await stat(folder).catch(() => undefined);
    if (facts && facts.mtimeMs < oldest) await rm(folder, { recursive: true, force: true });
  }
}

/** Writes a stream to a new file that only its owner can read, without buffering it in memory. */
export async function writeStream(
  bytes: AsyncIterable<Uint8Array>,
  filePath: string,
): Promise<void> {
  await pipeline(Readable.from(bytes), createWriteStream(filePath, { flags: 'wx', mode: 0o600 }));
}
