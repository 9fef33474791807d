import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, afterEach, test } from 'node:test';
import { type Database, first, statement } from '../../src/database/database.ts';
import { createMeasurer } from '../../src/media/measure.ts';
import { audit } from '../../src/operator/audit.ts';
import { takeDown } from '../../src/operator/verbs/objects.ts';
import { posterOf as selectPoster } from '../../src/storage/object-sql.ts';
import { deleteMarked, markExpired } from '../../src/storage/objects.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { type ArchiveDeps, archive } from '../../src/worker/archive.ts';
import { openArchiveFixture } from '../archive-fixture.ts';
import { sql } from '../task-fixtures.ts';
import { makeVideo, type TestVideo } from './media-files.ts';

const RETENTION_DAYS = 7;
const DAY_SECONDS = 86_400;
const ACTION = { command: 'objects takedown', actor: 'ada', reason: 'ticket 7' };
const fixture = await openArchiveFixture(); // each test audits
const { folder, scratch, storage: disk } = fixture;
const outputMeasurer = createMeasurer({ scratch });
after(() => outputMeasurer.close());
afterEach(() => fixture.database.setClock(0));

async function videoOf(options: TestVideo): Promise<Buffer> {
  const filePath = path.join(folder, 'made');
  await makeVideo(filePath, { seconds: 1, ...options });
  return readFile(filePath);
}

/** A task that the archive step has completed with these bytes as its video. */
async function completedTask(bytes: Buffer, changes: Partial<ArchiveDeps> = {}) {
  const archiveDeps = fixture.archiveDeps({ bytes, outputMeasurer, ...changes });
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

const PICTURES: [string, TestVideo, [number, number]][] = [
  ['a large video', { width: 1280, height: 720 }, [640, 360]],
  ['a small video, which is not enlarged', { width: 320, height: 180 }, [320, 180]],
  ['a turned video, upright', { width: 320, height: 180, rotationDegrees: 90 }, [180, 320]],
  ['pixels that are not square', { width: 320, height: 180, filters: 'setsar=2' }, [640, 180]],
  ['10-bit HEVC', { codec: 'hevc', pixelFormat: 'yuv420p10le' }, [320, 180]],
  ['WebM', { format: 'webm', codec: 'vp9' }, [320, 180]],
];

for (const [name, options, size] of PICTURES) {
  test(`a completed video has a poster of its size: ${name}`, async () => {
    const task = await completedTask(await videoOf(options));
    assert.deepEqual(sizeOfWebp(await posterOf(task.id)), size);
  });
}

for (const outputFrames of ['keyframes', 'all'] as const) {
  test(`a video that begins in black gets a later frame, by ${outputFrames}`, async () => {
    const posterBytes = async (filters: string) => {
      const task = await completedTask(await videoOf({ filters }), { outputFrames });
      return (await posterOf(task.id)).length;
    };
    const plain = await posterBytes('drawbox=color=black:t=fill');
    const late = await posterBytes('fade=t=in:st=0.3:d=0.1');
    assert.ok(late > 5 * plain, `${late} and ${plain} bytes`);
  });
}

test('a video whose poster can not be drawn completes without one', async () => {
  const late = { filters: 'fade=t=in:st=0.3:d=0.1', audio: null, codecOptions: { g: '250' } };
  const bytes = await videoOf(late);
  const inLaterFrame = bytes.indexOf('mdat') + 3000; // the check decodes only the first, a keyframe
  bytes.fill(0x5a, inLaterFrame, inLaterFrame + 200);
  const task = await completedTask(bytes);
  assert.deepEqual(await statesOfPosters(task.id), []);
});

test('a video whose poster can not be stored completes without it', async () => {
  const storage: Storage = {
    ...disk,
    async put(id, filePath) {
      if (filePath.endsWith('poster')) throw new Error('the disk is broken');
      await disk.put(id, filePath);
    },
  };
  const task = await completedTask(await videoOf({}), { storage });
  assert.deepEqual(await statesOfPosters(task.id), ['deleting']);
  assert.deepEqual((await audit(fixture.db)).problems, []);
});

test('a poster goes with its video', async () => {
  // Bytes of its own: what was taken down is not stored again.
  const removed = await completedTask(await videoOf({ filters: 'negate' }));
  await posterOf(removed.id);
  await takeDown(fixture.db, ACTION, removed.outputId);
  assert.equal(await readPoster(fixture.db, removed.id), undefined);
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
  await posterOf(task.id);
  await fixture.database.setClock((RETENTION_DAYS + 1) * DAY_SECONDS);
  await markExpired(fixture.db);
  await deleteMarked({ db: fixture.db, storage: disk });
  assert.deepEqual(await statesOfPosters(task.id), ['deleted']);
  assert.deepEqual((await audit(fixture.db)).problems, []);
});
