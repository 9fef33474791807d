import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rm, rmdir, stat, utimes } from 'node:fs/promises';
import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** A process whose folder was not touched for this long counts as dead. */
const LEFTOVER_SECONDS = 600;

export type ScratchDirectory = ReturnType<typeof openScratchDirectory>;

/**
 * Opens a folder for temporary files: downloads before they are checked, renders, outputs.
 * Processes may share `root`; each has its own folder in it.
 */
export function openScratchDirectory(root: string) {
  const own = path.join(root, randomUUID());
  const makeOwn = () => mkdir(own, { recursive: true, mode: 0o700 });
  let isMade = false;
  return {
    /** Calls `work` with the path of a new, empty folder, and removes the folder afterwards. */
    async withFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
      const folder = path.join(own, randomUUID());
      await mkdir(folder, { recursive: true, mode: 0o700 });
      try {
        return await work(folder);
      } finally {
        // Usually it is empty: its files have been stored.
        await rmdir(folder).catch(() => rm(folder, { recursive: true, force: true }));
      }
    },
    /**
     * Calls `work` with a function that returns paths of new files, ending in `name`, and removes
     * those left afterwards. Cheaper than {@link withFolder}.
     */
    async withFiles<T>(work: (newPath: (name: string) => string) => Promise<T>): Promise<T> {
      if (!isMade) await makeOwn();
      isMade = true;
      const paths: string[] = [];
      const newPath = (name: string) => {
        const filePath = path.join(own, `${randomUUID()}-${name}`);
        paths.push(filePath);
        return filePath;
      };
      try {
        return await work(newPath);
      } finally {
        // Usually none is left, and a call through the thread pool takes longer than this check.
        const left = paths.filter((filePath) => existsSync(filePath));
        await Promise.all(left.map((filePath) => rm(filePath, { force: true })));
      }
    },
    /** Touches this process's folder and removes those of dead processes. Call it every minute. */
    async maintain() {
      await makeOwn();
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

/** Bytes per write. Large, because each write is a call to a thread. */
const WRITE_BYTES = 256 * 1024;

/**
 * Writes a stream to a new private file with flat memory.
 * @param onPart is called with each part
 * @returns its size in bytes
 */
export async function writeStream(
  bytes: AsyncIterable<Uint8Array>,
  filePath: string,
  onPart: (part: Uint8Array) => void = () => {},
): Promise<number> {
  const file = await open(filePath, 'wx', 0o600);
  try {
    let parts: Uint8Array[] = [];
    let partsBytes = 0;
    let totalBytes = 0;
    for await (const part of bytes) {
      parts.push(part);
      onPart(part);
      partsBytes += part.length;
      totalBytes += part.length;
      countReceived(part.length);
      if (partsBytes < WRITE_BYTES) continue;
      await writeAll(file, parts, partsBytes);
      [parts, partsBytes] = [[], 0];
    }
    if (partsBytes > 0) await writeAll(file, parts, partsBytes);
    return totalBytes;
  } finally {
    await file.close();
  }
}

async function writeAll(file: FileHandle, parts: Uint8Array[], bytes: number): Promise<void> {
  const { bytesWritten } = await file.writev(parts);
  // A disk that fills up accepts a part; the next write gets the error.
  if (bytesWritten < bytes) await file.writeFile(Buffer.concat(parts).subarray(bytesWritten));
}

/** Received bytes between two collections, each of which takes about a millisecond. */
const COLLECT_BYTES = 8 * 2 ** 20;

type CollectGarbage = (options?: { type: 'minor' }) => void;

let collect: CollectGarbage | undefined;
let receivedBytes = 0;

/**
 * Collects young garbage after COLLECT_BYTES. By itself, the collector waits for 64 MB or more
 * of dead buffers, since it sees only the small objects that own them.
 */
function countReceived(bytes: number): void {
  receivedBytes += bytes;
  if (receivedBytes < COLLECT_BYTES) return;
  receivedBytes = 0;
  collect ??= exposeCollector();
  collect({ type: 'minor' });
}

/** V8's own `gc`, which collects at once. In a running process, only a new context gets it. */
export function exposeCollector(): CollectGarbage {
  setFlagsFromString('--expose-gc');
  const exposed: CollectGarbage = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  return exposed;
}
