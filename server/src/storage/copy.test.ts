import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { createTestDatabase } from '../../test/database.ts';
import { simulatedBucket } from '../../test/storage/simulated-bucket.ts';
import { sql } from '../../test/task-fixtures.ts';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { newId } from '../kernel/ids.ts';
import { copyObjects } from './copy.ts';
import { diskStorage } from './disk.ts';
import { deleteMarked, markForDeletion, markReady, storeFile } from './objects.ts';
import { takeDownObject } from './removal.ts';
import { openS3Storage } from './s3/s3.ts';
import type { Storage } from './storage.ts';

const taskId = newId('task');

const [database, bucket, folder] = await Promise.all([
  createTestDatabase(),
  simulatedBucket(''),
  temporaryFolder(),
]);
const disk = diskStorage(path.join(folder.path, 'objects'));
const s3 = await openS3Storage({ ...bucket, pauseMs: 1 });
after(async () => {
  await bucket.s3[Symbol.asyncDispose]();
  await database.close();
  await folder[Symbol.asyncDispose]();
});

async function store(text: string, storage = disk, task = taskId): Promise<string> {
  const filePath = path.join(folder.path, crypto.randomUUID());
  await writeFile(filePath, text);
  const file = { filePath, ownerId: task, role: 'output', mediaType: 'video/mp4' } as const;
  const id = await storeFile({ db: database.db, storage }, file);
  await markReady(database.db, [id], 30);
  return id;
}

async function copy(to = s3) {
  const scratch = path.join(folder.path, crypto.randomUUID());
  await mkdir(scratch);
  return copyObjects({ db: database.db, from: disk, to, scratch });
}

const textOf = async (id: string) => String(await buffer(await s3.open(id)));

test('a copy has all files, evidence too; a second one copies only those that came later', async () => {
  const first = [await store('one'), await store('two')];
  await database.db.transaction((tx) =>
    takeDownObject(tx, first[1] ?? '', { by: 'operator', evidenceDays: 1 }),
  );
  const done = { ok: true, deleted: 0, missing: [] };
  assert.deepEqual(await copy(), { ...done, copied: 2, copied_bytes: 6, already_there: 0 });
  const late = await store('three');
  const inNew = await store('four', s3);
  assert.deepEqual(await copy(), { ...done, copied: 1, copied_bytes: 5, already_there: 3 });
  const texts = await Promise.all([...first, late, inNew].map((id) => textOf(id)));
  assert.deepEqual(texts, ['one', 'two', 'three', 'four']);
});

test('a copy that is interrupted goes on where it was', async () => {
  const ids = await Promise.all(['a', 'b', 'c'].map((text) => store(text)));
  bucket.s3.faults.plan({ kind: 'denied', method: 'PUT' });
  await assert.rejects(copy(), { name: 'AccessDenied' });
  const { ok, copied } = await copy();
  assert.deepEqual([ok, copied], [true, 1]);
  assert.deepEqual(await Promise.all(ids.map((id) => textOf(id))), ['a', 'b', 'c']);
});

test('a copy whose bytes differ is noticed and deleted', async () => {
  const id = await store('exact bytes');
  const altering: Storage = {
    ...s3,
    async put(objectId) {
      const other = path.join(folder.path, 'other');
      await writeFile(other, 'other bytes');
      await s3.put(objectId, other);
    },
  };
  await assert.rejects(copy(altering), /copied with other bytes/);
  assert.equal(await s3.sizeOf(id), undefined);
  assert.equal((await copy()).copied, 1);
});

test('what was deleted after it was copied is deleted from the copy too', async () => {
  const task = newId('task');
  const id = await store('taken down', disk, task);
  await copy();
  await markForDeletion(database.db, [task], ['output']);
  await deleteMarked({ db: database.db, storage: disk });
  assert.equal(await s3.sizeOf(id), 10);
  assert.equal((await copy()).deleted, 1);
  assert.equal(await s3.sizeOf(id), undefined);
});

test('what is deleted while it is copied does not stay in the copy', async () => {
  const task = newId('task');
  const id = await store('deleted meanwhile', disk, task);
  const slow: Storage = {
    ...s3,
    async put(objectId, filePath) {
      await s3.put(objectId, filePath);
      await markForDeletion(database.db, [task], ['output']);
      await deleteMarked({ db: database.db, storage: disk });
    },
  };
  const { ok, copied } = await copy(slow);
  assert.deepEqual([ok, copied], [true, 0]);
  assert.equal(await s3.sizeOf(id), undefined);
});

test('files that are in neither storage are named, also beyond the first page of objects', async () => {
  const id = await store('lost');
  await disk.delete(id);
  const rows = `insert into stored_objects (id, owner_id, role, state, media_type, size_bytes)
    select 'obj_' || lpad(n::text, 24, '0'), 'task_1', 'input', 'ready', 'image/png', 1
    from generate_series(1, 401) as n`;
  await sql(database.db, rows);
  const { ok, missing } = await copy();
  assert.deepEqual([ok, missing.length, missing.includes(id)], [false, 402, true]);
});
