import assert from 'node:assert/strict';
import { cp, mkdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { openScratchDirectory } from '../../src/kernel/scratch-directory.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { makeVideo } from './media-files.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

const { path: folder, ...temporary } = await temporaryFolder();
after(() => temporary[Symbol.asyncDispose]());

/** A copy of our code, whose node_modules is a symbolic link to `packages`. */
async function makeCheckout(checkout: string, packages: string): Promise<void> {
  await mkdir(path.join(checkout, 'server'), { recursive: true });
  for (const name of ['package.json', 'server/package.json', 'server/src']) {
    await cp(path.join(ROOT, name), path.join(checkout, name), {
      recursive: true,
      filter: (source) => !source.endsWith('.test.ts'),
    });
  }
  await symlink(packages, path.join(checkout, 'node_modules'));
}

async function measuredBy(checkout: string): Promise<string> {
  const file = path.join(folder, 'video');
  await makeVideo(file, {});
  const module = pathToFileURL(path.join(checkout, 'server/src/media/measure.ts')).href;
  const code: typeof import('../../src/media/measure.ts') = await import(module);
  const scratch = openScratchDirectory(path.join(folder, 'scratch'));
  return (await code.createMeasurer({ scratch }).measure(file, 'video')).kind;
}

test('media is decoded through symbolic links to node_modules and above the checkout', async () => {
  const at = (name: string) => path.join(folder, name);
  await makeCheckout(at('one'), path.join(ROOT, 'node_modules'));
  await symlink(ROOT, at('link to the root'));
  await makeCheckout(at('two'), '../link to the root/node_modules');
  await makeCheckout(at('above/three'), path.join(ROOT, 'node_modules'));
  await symlink('above', at('link above'));
  for (const checkout of ['one', 'two', 'link above/three']) {
    assert.equal(await measuredBy(at(checkout)), 'measured', checkout);
  }
});
