import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** A day: longer than any download, decode or render, so nobody still writes what is older. */
const LEFTOVER_SECONDS = 86_400;

/** A local folder for files on their way: downloads before they are checked, renders, outputs. */
export interface Spool {
  /** Gives `work` the path of a new, empty folder and removes it afterwards with all it holds. */
  withFolder<T>(work: (folder: string) => Promise<T>): Promise<T>;
  /** Removes what killed processes left behind. */
  clean(): Promise<void>;
}

/** Opens a spool; its folder is made when it is first used. */
export function openSpool(root: string): Spool {
  return {
    async withFolder(work) {
      const folder = path.join(root, randomUUID());
      await mkdir(folder, { recursive: true, mode: 0o700 });
      try {
        return await work(folder);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
    clean: () => removeLeftovers(root),
  };
}

async function removeLeftovers(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const filePath = path.join(folder, name);
    const facts = await stat(filePath).catch(() => undefined);
    const oldMilliseconds = Date.now() - LEFTOVER_SECONDS * 1000;
    if (facts && facts.mtimeMs < oldMilliseconds)
      await rm(filePath, { recursive: true, force: true });
  }
}

/** Writes a stream to a new file, owner-readable only. Memory stays flat. */
export async function writeStream(
  bytes: AsyncIterable<Uint8Array>,
  filePath: string,
): Promise<void> {
  await pipeline(Readable.from(bytes), createWriteStream(filePath, { flags: 'wx', mode: 0o600 }));
}
