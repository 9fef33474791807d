import assert from 'node:assert/strict';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { testStorage } from '../../test/storage/conformance.ts';
import { newId } from '../kernel/ids.ts';
import { diskStorage } from './disk.ts';

const home = await mkdtemp(path.join(tmpdir(), 'framewright-'));
const folder = path.join(home, 'data', 'objects');
after(() => rm(home, { recursive: true, force: true }));

testStorage('disk', async () => diskStorage(folder));

test('disk: a put moves the file, and only its owner can enter the folders', async () => {
  const source = path.join(home, 'source');
  await writeFile(source, 'bytes');
  const { ino } = await stat(source);
  const id = newId('object');
  await diskStorage(folder).put(id, source);
  const stored = path.join(folder, id.slice(-2), id);
  assert.equal((await stat(stored)).ino, ino);
  await assert.rejects(stat(source), { code: 'ENOENT' });
  for (const made of [folder, path.dirname(stored)]) {
    assert.equal((await stat(made)).mode & 0o777, 0o700, made);
  }
});

test('disk: only a missing file is reported as a missing object', async () => {
  const id = newId('object');
  await writeFile(path.join(home, 'no-folder'), '');
  const misplaced = diskStorage(path.join(home, 'no-folder'));
  await assert.rejects(misplaced.open(id), { code: 'ENOTDIR' });
});
