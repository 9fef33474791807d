import assert from 'node:assert/strict';
import { cp, mkdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { readCertificate } from '../../src/credentials/certificate.ts';
import { makeCertificate } from '../../src/credentials/make-certificate.ts';
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

const now = new Date();
const made = makeCertificate(now, new Date(now.getTime() + 60_000));
const certificate = readCertificate(made, now);

async function handledBy(checkout: string): Promise<string[]> {
  const moduleOf = (name: string) => pathToFileURL(path.join(checkout, 'server/src', name)).href;
  const measuring: typeof import('../../src/media/measure.ts') = await import(
    moduleOf('media/measure.ts')
  );
  const signing: typeof import('../../src/credentials/signer.ts') = await import(
    moduleOf('credentials/signer.ts')
  );
  const scratch = openScratchDirectory(path.join(folder, 'scratch'));
  const file = { path: path.join(folder, 'video'), signedPath: path.join(folder, 'signed') };
  await makeVideo(file.path, {});
  const measurer = measuring.createMeasurer({ scratch });
  const signer = signing.createSigner({ scratch, certificate: () => certificate });
  const origin = { source: 'algorithmicMedia', model: '', version: '', promptHash: null } as const;
  const results = [
    await measurer.measure(file.path, 'video'),
    await signer.sign({ ...file, source: '' }, { ...origin, at: now.toISOString() }),
  ];
  return results.map(({ kind }) => kind);
}

test('media is decoded and signed through symbolic links to node_modules and above the checkout', async () => {
  const at = (name: string) => path.join(folder, name);
  await makeCheckout(at('one'), path.join(ROOT, 'node_modules'));
  await symlink(ROOT, at('link to the root'));
  await makeCheckout(at('two'), '../link to the root/node_modules');
  await makeCheckout(at('above/three'), path.join(ROOT, 'node_modules'));
  await symlink('above', at('link above'));
  for (const checkout of ['one', 'two', 'link above/three']) {
    assert.deepEqual(await handledBy(at(checkout)), ['measured', 'signed'], checkout);
  }
});
