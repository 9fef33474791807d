import assert from 'node:assert/strict';
import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { until } from '../../../test/until.ts';
import { openScratchDirectory, type ScratchDirectory } from '../../kernel/scratch-directory.ts';
import { createFileChildren } from './file-children.ts';

const CHILD = new URL('../../kernel/child.ts', import.meta.url).href;
const { path: folder, ...temporary } = await temporaryFolder();
after(() => temporary[Symbol.asyncDispose]());

/** Children that return their process id and the files that they find in their folder. */
async function openChildren(
  scratch: Pick<ScratchDirectory, 'withFolder'> = openScratchDirectory(
    path.join(folder, 'scratch'),
  ),
) {
  const script = path.join(folder, 'child.mjs');
  const body = `import { readdirSync } from 'node:fs';
    import { serveParent } from '${CHILD}';
    await serveParent(async ({ path, isGood }) => {
      const files = readdirSync(path.slice(0, path.lastIndexOf('/')));
      return { pid: process.pid, files: files.length, isGood };
    });`;
  await writeFile(script, body);
  await writeFile(path.join(folder, 'file'), 'a file');
  let started = 0;
  const children = createFileChildren({
    scratch,
    programFor() {
      started += 1;
      return { script: pathToFileURL(script) };
    },
  });
  const decode = async (source: string | undefined, isGood = true) => {
    const outcome = await children.run(
      { path: path.join(folder, 'file'), source },
      {
        request: { isGood },
        mayContinue: (result) => Object(result).isGood,
        timeoutSeconds: 60,
        memoryBytes: 2 ** 32,
      },
    );
    assert.ok(outcome.kind === 'completed', JSON.stringify(outcome));
    assert.equal(Object(outcome.result).files, 1, 'a child sees one file at a time');
    return Number(Object(outcome.result).pid);
  };
  const { prepare, close } = children;
  return Object.assign(decode, { prepare, close, started: () => started });
}

test('a child decodes files of one source only', async () => {
  const decode = await openChildren();
  const first = await decode('one');
  assert.equal(await decode('one'), first);
  assert.notEqual(await decode('other'), first);
  assert.equal(await decode('one'), first);
  assert.notEqual(await decode(undefined), await decode(undefined));
});

test('one child is started for a source whose files are expected, and takes the next file', async () => {
  const decode = await openChildren();
  for (let times = 0; times < 3; times += 1) decode.prepare('one');
  await until(async () => decode.started());
  const first = await decode('one');
  decode.prepare('one');
  assert.equal(await decode('one'), first);
  assert.equal(decode.started(), 1);
  await decode.close();
  assert.throws(() => process.kill(first, 0), { code: 'ESRCH' });
  assert.notEqual(await decode('one'), await decode('one'), 'after `close`, no child is kept');
});

test('a child that has refused a file decodes no other one', async () => {
  const decode = await openChildren();
  const first = await decode('one', false);
  const second = await decode('one');
  assert.notEqual(second, first);
  assert.throws(() => process.kill(first, 0), { code: 'ESRCH' });
});

test('files that are decoded at the same time have children of their own', async () => {
  const decode = await openChildren();
  const pids = await Promise.all([decode('one'), decode('one'), decode('one')]);
  assert.equal(new Set(pids).size, 3);
});

test('a child that ends between two files fails no file', async () => {
  const decode = await openChildren();
  const first = await decode('one');
  process.kill(first, 'SIGSEGV');
  assert.notEqual(await decode('one'), first);
});

test('a child without a file ends after a few seconds, and its folder is removed', async () => {
  const decode = await openChildren();
  const pid = await decode('one');
  const isAlive = () => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  assert.ok(isAlive());
  const folders = async () => {
    const all = await readdir(path.join(folder, 'scratch'), { recursive: true });
    return all.filter((name) => name.includes(path.sep)).length;
  };
  await until(async () => !isAlive() && (await folders()) === 0);
});

test('a folder that can not be removed fails no file, and not the process', async () => {
  const removals: string[] = [];
  const scratch = openScratchDirectory(path.join(folder, 'scratch'));
  const decode = await openChildren({
    async withFolder(work) {
      await scratch.withFolder(work);
      removals.push('failed');
      throw new Error('EROFS: read-only file system');
    },
  });
  for (const source of ['one', 'two', 'three', undefined]) await decode(source);
  await decode.close();
  assert.equal(removals.length, 4);
});
