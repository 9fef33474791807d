import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { openScratchDirectory } from '../../src/kernel/scratch-directory.ts';
import { makeVideo } from './media-files.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

let folder = '';
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'framewright-links-'));
});
after(() => rm(folder, { recursive: true }));

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
  const measurement = await code.createMeasurer({ scratch }).measure(file, 'video');
  return measurement.kind;
}

test('media is decoded when node_modules is a symbolic link', async () => {
  const checkout = path.join(folder, 'one');
  await makeCheckout(checkout, path.join(ROOT, 'node_modules'));
  assert.equal(await measuredBy(checkout), 'measured');
});

test('media is decoded when the way to node_modules has several links', async () => {
  const checkout = path.join(folder, 'two');
  await symlink(ROOT, path.join(folder, 'link to the root'));
  await makeCheckout(checkout, '../link to the root/node_modules');
  assert.equal(await measuredBy(checkout), 'measured');
});

test('media is decoded when a folder above the checkout is a symbolic link', async () => {
  await makeCheckout(path.join(folder, 'above/three'), path.join(ROOT, 'node_modules'));
  await symlink('above', path.join(folder, 'link above'));
  assert.equal(await measuredBy(path.join(folder, 'link above/three')), 'measured');
});
