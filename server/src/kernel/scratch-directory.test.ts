import assert from 'node:assert/strict';
import { readdir, readFile, rename, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { openScratchDirectory, writeStream } from './scratch-directory.ts';

const PART_BYTES = 64 * 1024;

test('each piece of work has a new, empty, private folder that is removed afterwards', async () => {
  await using home = await temporaryFolder();
  const scratch = openScratchDirectory(path.join(home.path, 'scratch'));
  const folders = await Promise.all(
    [1, 2].map(() =>
      scratch.withFolder(async (folder) => {
        assert.deepEqual(await readdir(folder), []);
        assert.equal((await stat(folder)).mode & 0o777, 0o700);
        await writeFile(path.join(folder, 'file'), 'bytes');
        return folder;
      }),
    ),
  );
  assert.notEqual(folders[0], folders[1]);
  const failing = scratch.withFolder(async (folder) => {
    folders.push(folder);
    throw new Error('no');
  });
  await assert.rejects(failing, /no/);
  for (const folder of folders) await assert.rejects(stat(folder), { code: 'ENOENT' });
});

test('new files are removed afterwards, unless they were moved away', async () => {
  await using home = await temporaryFolder();
  const scratch = openScratchDirectory(path.join(home.path, 'scratch'));
  const moved = path.join(home.path, 'moved');
  const paths: string[] = [];
  const failing = scratch.withFiles(async (newPath) => {
    paths.push(newPath('file'), newPath('file'), newPath('none'));
    const [left = '', stored = ''] = paths;
    await Promise.all([writeFile(left, 'bytes'), writeFile(stored, 'kept')]);
    assert.equal((await stat(path.dirname(left))).mode & 0o777, 0o700);
    await rename(stored, moved);
    throw new Error('no');
  });
  await assert.rejects(failing, /no/);
  assert.equal(new Set(paths).size, 3);
  assert.deepEqual(await readdir(path.dirname(paths[0] ?? '')), []);
  assert.equal(await readFile(moved, 'utf8'), 'kept');
});

test('maintenance removes the folders of dead processes only', async () => {
  await using home = await temporaryFolder();
  const [living, dead] = [openScratchDirectory(home.path), openScratchDirectory(home.path)];
  await dead.maintain();
  const [left = ''] = await readdir(home.path);
  const longAgo = new Date(Date.now() - 3_600_000);
  await living.withFolder(async (folder) => {
    await writeFile(path.join(folder, 'file'), 'bytes');
    await utimes(path.join(home.path, left), longAgo, longAgo);
    await utimes(folder, longAgo, longAgo);
    await living.maintain();
    assert.equal(await readFile(path.join(folder, 'file'), 'utf8'), 'bytes');
    assert.ok(!(await readdir(home.path)).includes(left));
  });
});

test('a stream is written completely, to a new file that only its owner can read', async () => {
  await using home = await temporaryFolder();
  const filePath = path.join(home.path, 'file');
  await writeStream(chunks('one ', 'two'), filePath);
  assert.equal(await readFile(filePath, 'utf8'), 'one two');
  assert.equal((await stat(filePath)).mode & 0o777, 0o600);
  await assert.rejects(writeStream(chunks('other'), filePath), { code: 'EEXIST' });
});

test('a large stream is written in the order of its parts, and does not fill the memory', async () => {
  await using home = await temporaryFolder();
  const filePath = path.join(home.path, 'file');
  let mostBytes = 0;
  async function* parts() {
    for (let n = 0; n < 1500; n += 1) {
      yield Buffer.allocUnsafeSlow(PART_BYTES).fill(n % 251);
      mostBytes = Math.max(mostBytes, process.memoryUsage().arrayBuffers);
      if (n % 64 === 0) await setImmediate(); // as a socket does
    }
  }
  await writeStream(parts(), filePath);
  const written = await readFile(filePath);
  assert.equal(written.length, 1500 * PART_BYTES);
  for (const n of [0, 7, 8, 777, 1499]) assert.equal(written[n * PART_BYTES + 1], n % 251);
  assert.ok(mostBytes < 24 * 2 ** 20, `${mostBytes} bytes were kept`);
});

test('a stream that fails leaves no file open', async () => {
  await using home = await temporaryFolder();
  async function* failing() {
    yield Buffer.from('part');
    throw new Error('cut');
  }
  const before = (await readdir('/proc/self/fd').catch(() => [])).length;
  await assert.rejects(writeStream(failing(), path.join(home.path, 'file')), /cut/);
  assert.equal((await readdir('/proc/self/fd').catch(() => [])).length, before);
});

async function* chunks(...texts: string[]) {
  for (const text of texts) yield Buffer.from(text);
}
