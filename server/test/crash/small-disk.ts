import { execFile } from 'node:child_process';
import { mkdir, open, rm, stat, truncate } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const CHUNK = Buffer.alloc(2 ** 20);

/** A folder for the service's files, on a disk of its own where one can be mounted. */
export async function mountSmallDisk(folder: string, sizeBytes: number) {
  await mkdir(folder);
  const excuse = await mount(folder, sizeBytes);
  const ballast = path.join(folder, 'ballast');
  return {
    path: folder,
    /** Why it can't be filled, for the report of the tests; undefined when it can. */
    excuse,
    /** Fills it, to the last byte or until so many are left; the returned function frees it. */
    async fill(leftBytes = 0) {
      await fillUp(ballast);
      const { size } = await stat(ballast);
      await truncate(ballast, Math.max(0, size - leftBytes));
      return () => rm(ballast);
    },
    async [Symbol.asyncDispose]() {
      if (excuse === undefined) await run('umount', ['--lazy', folder]);
    },
  };
}

/** @returns why it was not mounted */
function mount(folder: string, sizeBytes: number): Promise<string | undefined> {
  return run('mount', ['-t', 'tmpfs', '-o', `size=${sizeBytes}`, 'none', folder]).then(
    () => undefined,
    () => 'a small disk can only be mounted by root, on Linux',
  );
}

async function fillUp(file: string): Promise<void> {
  await using ballast = await open(file, 'w');
  try {
    for (;;) await ballast.writeFile(CHUNK);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
  }
}
