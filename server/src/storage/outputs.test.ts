import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, test } from 'node:test';
import { createTestDatabase } from '../../test/database.ts';
import { sql } from '../../test/task-fixtures.ts';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { diskStorage } from './disk.ts';
import { deleteMarked, markReady } from './objects.ts';
import { withOutputs } from './outputs.ts';
import { ObjectMissing, type Storage } from './storage.ts';

const { path: home, ...folder } = await temporaryFolder();
const storage = diskStorage(path.join(home, 'objects'));

const database = await createTestDatabase();
const { db } = database;
after(async () => {
  await database.close();
  await folder[Symbol.asyncDispose]();
});

async function makeFile(role: 'output' | 'poster') {
  const filePath = path.join(home, crypto.randomUUID());
  await writeFile(filePath, role);
  return { filePath, role, mediaType: 'video/mp4', sizeBytes: role.length };
}

async function statesOf(taskId: string): Promise<Record<string, string[]>> {
  const rows = await sql<{ role: string; states: string[] }>(
    db,
    `select role, array_agg(state order by created_at) as states
     from stored_objects where owner_id = $1 group by role`,
    [taskId],
  );
  return Object.fromEntries(rows.map(({ role, states }) => [role, states]));
}

test('an output and its poster are registered, stored and made ready', async () => {
  const [video, poster] = [await makeFile('output'), await makeFile('poster')];
  const ids = await withOutputs({ db, storage }, 'task_1', [video, poster], async (put) => {
    assert.deepEqual(await statesOf('task_1'), { output: ['writing'], poster: ['writing'] });
    const stored = [await put(video), await put(poster)];
    await markReady(db, stored, 7);
    return stored;
  });
  assert.deepEqual(await statesOf('task_1'), { output: ['ready'], poster: ['ready'] });
  for (const id of ids) (await storage.open(id)).destroy();
});

test('what an interrupted run left is marked for deletion, of this task only', async () => {
  const files = [await makeFile('output'), await makeFile('poster')];
  const interrupted = (taskId: string) =>
    withOutputs({ db, storage }, taskId, files, () => new Promise<never>(() => {}));
  void interrupted('task_2');
  void interrupted('task_3');
  for (const id of ['task_2', 'task_3']) {
    while ((await statesOf(id)).output === undefined) await new Promise(setImmediate);
  }
  const video = await makeFile('output');
  await withOutputs({ db, storage }, 'task_2', [video], async (put) =>
    markReady(db, [await put(video)], 7),
  );
  const left = { output: ['deleting', 'ready'], poster: ['deleting'] };
  assert.deepEqual(await statesOf('task_2'), left);
  assert.deepEqual(await statesOf('task_3'), { output: ['writing'], poster: ['writing'] });
});

test('when the work fails, its files are deleted', async () => {
  const video = await makeFile('output');
  let id = '';
  const failing = withOutputs({ db, storage }, 'task_4', [video], async (put) => {
    id = await put(video);
    throw new Error('another worker has the task');
  });
  await assert.rejects(failing, /another worker/);
  assert.deepEqual(await statesOf('task_4'), { output: ['deleting'] });
  await deleteMarked({ db, storage });
  await assert.rejects(storage.open(id), ObjectMissing);
});

test('a file that was deleted before it was stored is deleted again', async () => {
  const [video, again] = [await makeFile('output'), await makeFile('output')];
  let id = '';
  const overtaken: Storage = {
    ...storage,
    async put(objectId, filePath) {
      await withOutputs({ db, storage }, 'task_5', [again], async (put) =>
        markReady(db, [await put(again)], 7),
      );
      await deleteMarked({ db, storage });
      await storage.put(objectId, filePath);
      id = objectId;
    },
  };
  const deps = { db, storage: overtaken };
  const failing = withOutputs(deps, 'task_5', [video], async (put) =>
    markReady(db, [await put(video)], 7),
  );
  await assert.rejects(failing, /not all objects are in state writing/);
  assert.deepEqual(await statesOf('task_5'), { output: ['deleted', 'ready'] });
  await assert.rejects(storage.open(id), ObjectMissing);
});

test('a file that could not be stored is deleted later, when the store can not write it any more', async () => {
  const video = await makeFile('output');
  const silent: Storage = { ...storage, put: () => Promise.reject(new Error('no response')) };
  const failing = withOutputs({ db, storage: silent }, 'task_6', [video], (put) => put(video));
  await assert.rejects(failing, /no response/);
  assert.equal(await deleteMarked({ db, storage }), 0);
  assert.deepEqual(await statesOf('task_6'), { output: ['deleting'] });
});
