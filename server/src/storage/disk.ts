import { closeSync, fsync, openSync } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { ObjectMissing, type Storage } from './storage.ts';

const fsyncOf = promisify(fsync);

/**
 * Stores objects in subfolders of `folder`, named by the last two characters of the ids. A put
 * renames the file, which must be on the same file system: it appears completely or not at all.
 */
export function diskStorage(folder: string): Storage {
  const pathOf = (objectId: string) => path.join(folder, objectId.slice(-2), objectId);
  return {
    prepare: sync,
    async put(objectId, filePath, { isPrepared = false } = {}) {
      const target = pathOf(objectId);
      if (!isPrepared) await sync(filePath);
      await rename(filePath, target).catch(async (error: unknown) => {
        rethrowUnlessMissing(error);
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
      return (await stat(pathOf(objectId)).catch(rethrowUnlessMissing))?.size;
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
    rethrowUnlessMissing(error);
    throw new ObjectMissing(objectId, { cause: error });
  }
}

/** Swallows ENOENT only. */
function rethrowUnlessMissing(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
  throw error;
}

async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length; made = path.dirname(made)) {
    await sync(path.dirname(made));
  }
}

/**
 * Waits until a changed file or folder is on disk. A synchronous open takes microseconds; one in
 * the thread pool may queue behind other syncs.
 */
async function sync(fileOrFolder: string): Promise<void> {
  const descriptor = openSync(fileOrFolder, 'r');
  try {
    await fsyncOf(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
