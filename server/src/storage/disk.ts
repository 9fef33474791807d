import { closeSync, fsync, openSync } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { ObjectMissing, type Storage } from './storage.ts';

const fsyncOf = promisify(fsync);

/**
 * Stores objects as files under `folder`, in subfolders named by the last two characters of their
 * random ids. A file appears completely or not at all: it is synced, renamed, then its folder is
 * synced. `put` renames the file, so it must be on the same file system as `folder`.
 */
export function diskStorage(folder: string): Storage {
  const pathOf = (objectId: string) => path.join(folder, objectId.slice(-2), objectId);
  return {
    prepare: sync,
    async put(objectId, filePath, { isPrepared = false } = {}) {
      const target = pathOf(objectId);
      if (!isPrepared) await sync(filePath);
      await rename(filePath, target).catch(async (error: unknown) => {
        missing(error);
        await makeFolder(path.dirname(target));
        await rename(filePath, target);
      });
      await sync(path.dirname(target));
    },
    async open(objectId, range) {
      const file = await openFile(pathOf(objectId), objectId);
      return file.createReadStream(range && { start: range.first, end: range.last });
    },
    async sizeOf(objectId) {
      return (await stat(pathOf(objectId)).catch(missing))?.size;
    },
    async delete(objectId) {
      await rm(pathOf(objectId), { force: true });
    },
  };
}

async function openFile(filePath: string, objectId: string): Promise<FileHandle> {
  try {
    return await open(filePath, 'r');
  } catch (error) {
    missing(error);
    throw new ObjectMissing(objectId, { cause: error });
  }
}

/** @throws the error, unless it says that there is no such file */
function missing(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
  throw error;
}

/** Creates a folder and its missing parents, and syncs each folder that has a new entry. */
async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length; made = path.dirname(made)) {
    await sync(path.dirname(made));
  }
}

/**
 * Waits until a file or folder that was just changed is on disk. Opening it then takes
 * microseconds, less than a call through the thread pool, which may also queue behind other syncs.
 */
async function sync(fileOrFolder: string): Promise<void> {
  const descriptor = openSync(fileOrFolder, 'r');
  try {
    await fsyncOf(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
