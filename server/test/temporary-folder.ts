import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after } from 'node:test';

/** A temporary folder that goes away with `await using`. */
export async function temporaryFolder(): Promise<{ path: string } & AsyncDisposable> {
  const folder = await mkdtemp(path.join(tmpdir(), 'framewright-'));
  return {
    path: folder,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** A temporary folder that goes away after the tests of the file. */
export async function openTestFolder() {
  const folder = await temporaryFolder();
  after(() => folder[Symbol.asyncDispose]());
  return folder;
}
