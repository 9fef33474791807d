import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, afterEach, test } from 'node:test';
import { createTestDatabase } from '../../test/database.ts';
import { sql } from '../../test/task-fixtures.ts';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { diskStorage } from './disk.ts';
import {
  deleteMarked,
  markExpired,
  markForDeletion,
  markReady,
  markReadyWith,
  markUnfinished,
  type ObjectRole,
  readObject,
  storeFile,
} from './objects.ts';
import { ObjectMissing, type Storage } from './storage.ts';

const DAY_SECONDS = 86_400;
const { path: home, ...folder } = await temporaryFolder();
const storage = diskStorage(path.join(home, 'objects'));

const database = await createTestDatabase();
const { db } = database;
afterEach(() => database.setClock(0));
after(async () => {
  await database.close();
  await folder[Symbol.asyncDispose]();
});

async function store(
  taskId: string,
  role: ObjectRole = 'output',
  into: Storage = storage,
): Promise<string> {
  const filePath = path.join(home, crypto.randomUUID());
  await writeFile(filePath, 'some bytes');
  const file = { filePath, ownerId: taskId, role, mediaType: 'video/mp4' };
  return storeFile({ db, storage: into }, file);
}

async function stateOf(id: string): Promise<string | undefined> {
  const text = 'select state from stored_objects where id = $1';
  return (await sql<{ state: string }>(db, text, [id]))[0]?.state;
}

/** Deletes what is marked, and what has expired, at this time of the database's clock. */
async function sweep(seconds?: number): Promise<void> {
  if (seconds !== undefined) await database.setClock(seconds);
  await markExpired(db);
  await deleteMarked({ db, storage });
}

async function assertGone(id: string): Promise<void> {
  assert.equal(await stateOf(id), 'deleted');
  await assert.rejects(storage.open(id), ObjectMissing);
}

async function assertKept(id: string, state: string): Promise<void> {
  assert.equal(await stateOf(id), state);
  (await storage.open(id)).destroy();
}

test('the row of an object is committed before its first byte is written', async () => {
  const seen: Array<string | undefined> = [];
  const observed: Storage = {
    ...storage,
    async put(id, filePath) {
      seen.push(await stateOf(id));
      await storage.put(id, filePath);
    },
  };
  const id = await store('task_1', 'output', observed);
  assert.deepEqual(seen, ['writing']);
  const found = await readObject(db, id, ['output']);
  assert.equal(found?.size_bytes, 'some bytes'.length);
  assert.equal(found?.media_type, 'video/mp4');
  assert.equal(await readObject(db, id, ['input']), undefined);
});

test('a file that arrives after its write was given up is deleted', async () => {
  let late: (() => Promise<void>) | undefined;
  let lateId = '';
  const slow: Storage = {
    ...storage,
    async put(id, filePath) {
      lateId = id;
      late = () => storage.put(id, filePath);
      throw new Error('the store did not respond');
    },
  };
  await assert.rejects(store('task_1b', 'output', slow), /did not respond/);
  await deleteMarked({ db, storage });
  await late?.();
  await sweep(29 * 60);
  assert.equal(await stateOf(lateId), 'deleting');
  await sweep(31 * 60);
  await assertGone(lateId);
});

test('a file that arrives after another worker had its object deleted is deleted', async () => {
  let lateId = '';
  const slow: Storage = {
    ...storage,
    async put(id, filePath) {
      lateId = id;
      await markUnfinished(db, { ownerId: 'task_1c', role: 'input' });
      await deleteMarked({ db, storage });
      assert.equal(await stateOf(id), 'deleted');
      await storage.put(id, filePath);
      throw new Error('the response was lost');
    },
  };
  await assert.rejects(store('task_1c', 'input', slow), /response was lost/);
  await sweep(31 * 60);
  await assertGone(lateId);
});

test('an object becomes ready once, and only if the transaction commits', async () => {
  const id = await store('task_2');
  const failing = db.transaction(async (tx) => {
    await markReady(tx, [id], 30);
    throw new Error('undone');
  });
  await assert.rejects(failing, /undone/);
  assert.equal(await stateOf(id), 'writing');
  await markReady(db, [id], 30);
  await assert.rejects(markReady(db, [id], 30), /not all objects are in state writing/);
});

test('either all of the objects become ready, or the call fails', async () => {
  const [first, deleting] = [await store('task_3', 'input'), await store('task_3b', 'input')];
  await markForDeletion(db, ['task_3b'], ['input']);
  const marking = db.transaction((tx) => markReady(tx, [first, deleting], null));
  await assert.rejects(marking, /not all objects/);
  assert.equal(await stateOf(first), 'writing');
});

test('objects of a transaction that does not commit are marked for deletion at once', async () => {
  const [used, unused] = [await store('task_3c'), await store('task_3d')];
  const result = await markReadyWith(db, { ids: [used], retentionDays: 30 }, async () => 'moved');
  assert.equal(result, 'moved');
  const failing = markReadyWith(db, { ids: [unused], retentionDays: 30 }, async () => {
    throw new Error('superseded');
  });
  await assert.rejects(failing, /superseded/);
  await deleteMarked({ db, storage });
  await assertKept(used, 'ready');
  await assertGone(unused);
});

test('marking for deletion marks the given roles of one task, writing or ready', async () => {
  const writing = await store('task_4', 'input');
  const ready = await store('task_4', 'input');
  await markReady(db, [ready], null);
  const output = await store('task_4', 'output');
  const other = await store('task_5', 'input');
  await markForDeletion(db, ['task_4'], ['input']);
  await deleteMarked({ db, storage });
  await assertGone(writing);
  await assertGone(ready);
  await assertKept(output, 'writing');
  await assertKept(other, 'writing');
});

test('when a step runs again, only objects in state writing are marked for deletion', async () => {
  const [ready, writing] = [await store('task_6', 'input'), await store('task_6', 'input')];
  await markReady(db, [ready], 30);
  await markUnfinished(db, { ownerId: 'task_6', role: 'input' });
  await deleteMarked({ db, storage });
  await assertKept(ready, 'ready');
  await assertGone(writing);
});

test('outputs are deleted after their retention, by the database’s clock', async () => {
  const [output, kept] = [await store('task_7'), await store('task_7', 'input')];
  await markReady(db, [output], 30);
  await markReady(db, [kept], null);
  await sweep(30 * DAY_SECONDS - 60);
  await assertKept(output, 'ready');
  await sweep(30 * DAY_SECONDS + 60);
  await assertGone(output);
  await assertKept(kept, 'ready');
});

test('an object that a killed process left in state writing is deleted after a day, not before', async () => {
  const abandoned = await store('task_8');
  await sweep();
  await assertKept(abandoned, 'writing');
  await sweep(DAY_SECONDS + 60);
  await assertGone(abandoned);
});

test('several processes can delete at the same time', async () => {
  const ids = await Promise.all(Array.from({ length: 20 }, () => store('task_9')));
  await markForDeletion(db, ['task_9'], ['output']);
  await Promise.all(Array.from({ length: 4 }, () => deleteMarked({ db, storage })));
  for (const id of ids) await assertGone(id);
  assert.equal(await deleteMarked({ db, storage }), 0);
});

test('an object that is deleted while it is written leaves no file', async () => {
  let id = '';
  const overtaken: Storage = {
    ...storage,
    async put(objectId, filePath) {
      id = objectId;
      await markUnfinished(db, { ownerId: 'task_10', role: 'input' });
      await deleteMarked({ db, storage });
      await storage.put(objectId, filePath);
    },
  };
  await assert.rejects(store('task_10', 'input', overtaken));
  await assertGone(id);
});

/** A storage that can't delete these objects. */
function keeping(stuck: string[]): Storage {
  return {
    ...storage,
    async delete(id) {
      if (stuck.includes(id)) throw new Error('the disk fails');
      await storage.delete(id);
    },
  };
}

test('a file that cannot be deleted is tried again after five minutes and delays no other', async () => {
  const [stuck, other] = [await store('task_11'), await store('task_11')];
  await markForDeletion(db, ['task_11'], ['output']);
  await assert.rejects(deleteMarked({ db, storage: keeping([stuck]) }), /the disk fails/);
  await assertGone(other);
  await assertKept(stuck, 'deleting');
  await deleteMarked({ db, storage });
  await assertKept(stuck, 'deleting');
  await sweep(5 * 60 + 1);
  await assertGone(stuck);
});

test('many files that cannot be deleted do not delay the deletion of others', async () => {
  const stuck = await Promise.all(Array.from({ length: 120 }, () => store('task_12')));
  await markForDeletion(db, ['task_12'], ['output']);
  const deleting = () => deleteMarked({ db, storage: keeping(stuck) });
  await assert.rejects(deleting(), /the disk fails/);
  const later = await store('task_13');
  await markForDeletion(db, ['task_13'], ['output']);
  await assert.rejects(deleting(), /the disk fails/);
  await assertGone(later);
  assert.equal(await deleting(), 0);
});

test('expired outputs are marked in small batches', async () => {
  const ids = await Promise.all(Array.from({ length: 130 }, () => store('task_14')));
  await markReady(db, ids, 1);
  await database.setClock(DAY_SECONDS + 60);
  assert.deepEqual([await markExpired(db), await markExpired(db)], [100, 30]);
});
