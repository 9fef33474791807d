import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, test } from 'node:test';
import { type Database, first, statement } from '../../src/database/database.ts';
import { createPosterMaker } from '../../src/media/poster/poster.ts';
import { audit } from '../../src/operator/audit.ts';
import { takeDown } from '../../src/operator/verbs/objects.ts';
import { posterOf as selectPoster } from '../../src/storage/object-sql.ts';
import { deleteMarked, markExpired } from '../../src/storage/objects.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { drawPosters } from '../../src/tasks/gallery/draw-posters.ts';
import { readTask } from '../../src/tasks/task.ts';
import { archive } from '../../src/worker/archive.ts';
import { openArchiveFixture } from '../archive-fixture.ts';
import { quiet } from '../database.ts';
import { sql } from '../task-fixtures.ts';
import { makeVideo, type TestVideo } from './media-files.ts';

const RETENTION_DAYS = 7;
const DAY_SECONDS = 86_400;
const ACTION = { command: 'objects takedown', actor: 'ada', reason: 'ticket 7' };
const fixture = await openArchiveFixture('close'); // each test audits
const { folder, scratch, storage: disk } = fixture;
const posterMaker = createPosterMaker({ scratch });
const { signal } = new AbortController();
const deps = { db: fixture.db, storage: disk, scratch, posterMaker, log: quiet, signal };
afterEach(() => fixture.database.setClock(0));

async function videoOf(options: TestVideo): Promise<Buffer> {
  const filePath = path.join(folder, 'made');
  await makeVideo(filePath, { seconds: 1, ...options });
  return readFile(filePath);
}

/** A task that the archive step has completed with these bytes as its video. */
async function completedTask(bytes: Buffer, storage = disk, poster?: Buffer) {
  const archiveDeps = fixture.archiveDeps({ bytes, storage, poster });
  const done = await archive(archiveDeps, await fixture.makeArchivingTask());
  assert.ok(done !== 'postponed' && done.phase === 'completed');
  return { id: done.id, outputId: done.output_object_id ?? '' };
}

/** The size of a lossy WebP (RFC 9649, section 2.5 and RFC 6386, section 9.1). */
function sizeOfWebp(bytes: Buffer): [width: number, height: number] {
  assert.equal(bytes.toString('latin1', 8, 15), 'WEBPVP8');
  return [bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff];
}

const POSTER = statement('', selectPoster('$1'));

/** The poster of a task, if it has one. */
function readPoster(db: Database, taskId: string) {
  return first<{ id: string; size_bytes: number }>(db, POSTER, [taskId]);
}

async function posterOf(taskId: string): Promise<Buffer> {
  const poster = await readPoster(fixture.db, taskId);
  assert.ok(poster, `${taskId} has no poster`);
  const bytes = await buffer(await disk.open(poster.id));
  assert.equal(bytes.length, poster.size_bytes);
  return bytes;
}

/** The states of the posters of a task, the oldest first. */
async function statesOfPosters(taskId: string): Promise<string[]> {
  const text = `select state from stored_objects where owner_id = $1 and role = 'poster'
    order by created_at`;
  const rows = await sql<{ state: string }>(fixture.db, text, [taskId]);
  return rows.map(({ state }) => state);
}

async function outputRow(id: string): Promise<Record<string, unknown>> {
  const text = 'select state, poster_tries, poster_due_at from stored_objects where id = $1';
  const [row] = await sql<Record<string, unknown>>(fixture.db, text, [id]);
  return row ?? assert.fail();
}

const PICTURES: [string, TestVideo, [number, number]][] = [
  ['a large video', { width: 1280, height: 720 }, [640, 360]],
  ['a small video, which is not enlarged', { width: 320, height: 180 }, [320, 180]],
  ['a turned video, upright', { width: 320, height: 180, rotationDegrees: 90 }, [180, 320]],
  ['pixels that are not square', { width: 320, height: 180, filters: 'setsar=2' }, [640, 180]],
  ['10-bit HEVC', { codec: 'hevc', pixelFormat: 'yuv420p10le' }, [320, 180]],
  ['WebM', { format: 'webm', codec: 'vp9' }, [320, 180]],
];

test('each completed video gets a poster of its size, the newest first', async () => {
  const tasks = [];
  for (const [, options] of PICTURES) tasks.push(await completedTask(await videoOf(options)));
  await drawPosters(deps);
  for (const [index, [name, , size]] of PICTURES.entries()) {
    assert.deepEqual(sizeOfWebp(await posterOf(tasks[index]?.id ?? '')), size, name);
  }
  const drawn = await sql<{ task_id: string }>(
    fixture.db,
    `select owner_id as task_id from stored_objects where role = 'poster' order by created_at`,
  );
  assert.deepEqual(
    drawn.map((poster) => poster.task_id),
    tasks.map(({ id }) => id).reverse(),
  );
});

test('the poster of the check is ready with its output, and no other one is drawn', async () => {
  const webp = Buffer.from('RIFF....WEBPVP8 ');
  const task = await completedTask(await videoOf({}), disk, webp);
  assert.deepEqual(await posterOf(task.id), webp);
  await drawPosters(deps);
  assert.deepEqual(await statesOfPosters(task.id), ['ready']);
  assert.deepEqual((await audit(fixture.db)).problems, []);
});

test('a poster of the check that can not be stored is drawn again later', async () => {
  let puts = 0;
  const storage: Storage = {
    ...disk,
    async put(id, filePath) {
      if (filePath.endsWith('poster')) throw new Error('the disk is broken');
      puts += 1;
      await disk.put(id, filePath);
    },
  };
  const task = await completedTask(await videoOf({}), storage, Buffer.from('a poster'));
  assert.equal(puts, 1);
  await drawPosters(deps);
  assert.deepEqual(await statesOfPosters(task.id), ['deleting', 'ready']);
  assert.deepEqual((await audit(fixture.db)).problems, []);
});

test('a video that begins in black gets a later frame', async () => {
  const plain = await completedTask(await videoOf({ filters: 'drawbox=color=black:t=fill' }));
  const late = await completedTask(await videoOf({ filters: 'fade=t=in:st=0.3:d=0.1' }));
  await drawPosters(deps);
  const sizes = [await posterOf(plain.id), await posterOf(late.id)].map(({ length }) => length);
  assert.ok(Number(sizes[1]) > 5 * Number(sizes[0]), `${sizes} bytes`);
});

test('a hostile output fails alone: its task stays, and it is not tried again', async () => {
  const whole = await videoOf({});
  const garbage = Buffer.concat([whole.subarray(0, 64), Buffer.alloc(5000, 0x5a)]);
  const tasks = [
    await completedTask(Buffer.from('<script>alert(1)</script>')),
    await completedTask(garbage),
    await completedTask(whole),
  ];
  await drawPosters(deps);
  const posters = await Promise.all(tasks.map(({ id }) => readPoster(fixture.db, id)));
  assert.deepEqual(posters.map(Boolean), [false, false, true]);
  for (const { outputId } of tasks) {
    assert.partialDeepStrictEqual(await outputRow(outputId), {
      poster_due_at: null,
      state: 'ready',
    });
  }
  assert.deepEqual((await audit(fixture.db)).problems, []);
});

test('an output whose file can not be read is tried three times', async () => {
  const task = await completedTask(await videoOf({}));
  const open = () => Promise.reject(new Error('the disk is broken'));
  const storage: Storage = { ...disk, open };
  for (let turn = 0; turn < 5; turn += 1) {
    await fixture.database.setClock(turn * 600);
    await drawPosters({ ...deps, storage });
  }
  const tried = { state: 'ready', poster_tries: 3, poster_due_at: null };
  assert.deepEqual(await outputRow(task.outputId), tried);
});

test('a disk that is full while a poster is drawn harms neither the task nor later tries', async () => {
  const task = await completedTask(await videoOf({}));
  const noSpace = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
  const full = () => Promise.reject(noSpace);
  await drawPosters({ ...deps, scratch: { ...deps.scratch, withFolder: full } });
  await fixture.database.setClock(600);
  await drawPosters({ ...deps, storage: { ...disk, put: full } });
  assert.deepEqual(await statesOfPosters(task.id), ['deleting']);
  const { phase, error_code } = await readTask(fixture.db, task.id);
  assert.deepEqual([phase, error_code], ['completed', null]);
  assert.deepEqual((await audit(fixture.db)).problems, []);
  await fixture.database.setClock(1200);
  await drawPosters(deps);
  await posterOf(task.id);
});

test('a try that never ends, or ends after a later one, makes no second poster', async () => {
  const task = await completedTask(await videoOf({}));
  const late = Promise.withResolvers<void>();
  const taken = Promise.withResolvers<void>();
  const storage: Storage = {
    ...disk,
    async put(id, filePath) {
      await disk.put(id, filePath);
      taken.resolve();
      await late.promise;
    },
  };
  const first = drawPosters({ ...deps, storage });
  await taken.promise;
  await drawPosters(deps);
  assert.equal(await readPoster(fixture.db, task.id), undefined, 'it is not due yet');
  await fixture.database.setClock(600);
  await drawPosters(deps);
  assert.deepEqual(await statesOfPosters(task.id), ['writing', 'ready']);
  late.resolve();
  await first;
  assert.deepEqual(await statesOfPosters(task.id), ['deleting', 'ready']);
});

test('a poster goes with its video, also when it is drawn at that moment', async () => {
  const video = await videoOf({});
  const [removed, drawing] = [await completedTask(video), await completedTask(video)];
  const taken = (id: string) => takeDown(fixture.db, ACTION, id);
  const storage: Storage = {
    ...disk,
    async put(id, filePath) {
      await disk.put(id, filePath);
      await taken(drawing.id);
    },
  };
  await drawPosters({ ...deps, storage });
  await taken(removed.id);
  for (const { id } of [removed, drawing]) {
    assert.equal(await readPoster(fixture.db, id), undefined);
  }
  assert.deepEqual((await audit(fixture.db)).problems, []);
  const revive = `update stored_objects set state = $2 where owner_id = $1 and role = 'poster'`;
  await sql(fixture.db, revive, [removed.id, 'ready']);
  assert.deepEqual((await audit(fixture.db)).problems, [
    `${removed.id}: its video was removed, its poster was not`,
  ]);
  await sql(fixture.db, revive, [removed.id, 'deleting']);
});

test('a poster is deleted after the retention of its video', async () => {
  const task = await completedTask(await videoOf({}));
  await fixture.database.setClock(2 * DAY_SECONDS);
  await drawPosters(deps);
  await posterOf(task.id);
  await fixture.database.setClock((RETENTION_DAYS + 1) * DAY_SECONDS);
  await markExpired(fixture.db);
  await deleteMarked({ db: fixture.db, storage: disk });
  assert.deepEqual(await statesOfPosters(task.id), ['deleted']);
  assert.equal((await outputRow(task.outputId)).state, 'deleted');
  assert.deepEqual((await audit(fixture.db)).problems, []);
});
