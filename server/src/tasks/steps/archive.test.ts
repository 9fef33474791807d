import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';
import {
  claimTask,
  makeSubmittingTask,
  openTaskFixture,
  recordAccepted,
  scriptedProvider,
  sql,
  type TaskFixture,
} from '../../../test/task-fixtures.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import type { Database } from '../../database/database.ts';
import { openScratchDirectory } from '../../kernel/scratch-directory.ts';
import type { MediaFacts } from '../../media/measure.ts';
import { diskStorage } from '../../storage/disk.ts';
import type { Storage } from '../../storage/storage.ts';
import type { Task } from '../task.ts';
import { moveNow, Superseded } from '../transitions.ts';
import { type ArchiveDeps, archive } from './archive.ts';

let fixture: TaskFixture;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;

before(async () => {
  fixture = await openTaskFixture();
  folder = await temporaryFolder();
});
after(async () => {
  await fixture.closeAudited();
  await folder[Symbol.asyncDispose]();
});

const FACTS: MediaFacts = {
  ...({ kind: 'video', mediaType: 'video/mp4' } as const),
  width: 1280,
  height: 720,
  durationSeconds: 5,
  frames: 120,
  videoCodec: 'h264',
  audio: null,
};

function archiveDeps(db: Database): ArchiveDeps {
  const provider = scriptedProvider({
    openOutput: async () =>
      (async function* () {
        yield Buffer.from('a video');
      })(),
  });
  return {
    db,
    storage: diskStorage(path.join(folder.path, 'objects')),
    scratch: openScratchDirectory(path.join(folder.path, 'scratch')),
    outputMeasurer: { measure: async () => ({ kind: 'measured', facts: FACTS }) },
    outputFrames: 'keyframes',
    drawsPosters: true,
    providerOf: () => provider,
    retentionDays: 7,
    reconcileSeconds: 60,
  };
}

async function makeArchivingTask(): Promise<Task> {
  const { task } = await makeSubmittingTask(fixture);
  await recordAccepted(fixture.db, task.id);
  const generating = await moveNow(fixture.db, task, { to: 'generating' });
  return moveNow(fixture.db, generating, { to: 'archiving', changes: { providerOutput: {} } });
}

/** A storage in which no `put` ends before so many have begun, and `then` has ended. */
function storingTogether(storage: Storage, count: number, then: () => Promise<void>): Storage {
  const all = Promise.withResolvers<void>();
  let stored = 0;
  return {
    ...storage,
    async put(id, filePath) {
      await storage.put(id, filePath);
      stored += 1;
      if (stored === count) all.resolve(then());
      await all.promise;
    },
  };
}

test('a task that another worker completes fails no task that completes with it', async () => {
  const { db } = fixture;
  const tasks = await Promise.all([makeArchivingTask(), makeArchivingTask(), makeArchivingTask()]);
  const taken = tasks[1]?.id ?? '';
  const others = archiveDeps(db);
  const deps = archiveDeps(db);
  deps.storage = storingTogether(deps.storage, tasks.length, async () => {
    await sql(db, 'update tasks set leased_until = null where id = $1', [taken]);
    await archive(others, await claimTask(db, taken));
  });
  const archived = await Promise.allSettled(tasks.map((task) => archive(deps, task)));
  assert.deepEqual(
    archived.map((one) => (one.status === 'fulfilled' ? 'done' : one.reason.constructor)),
    ['done', Superseded, 'done'],
  );
  const states = await sql<{ state: string; count: number }>(
    db,
    'select state, count(*)::int as count from stored_objects group by 1 order by 1',
    [],
  );
  assert.deepEqual(states, [
    { state: 'deleting', count: 1 },
    { state: 'ready', count: 3 },
  ]);
});

test('an output that can not be stored fails its step, after its poster has ended', async () => {
  const deps = archiveDeps(fixture.db);
  const poster = Buffer.from('a poster');
  const outputMeasurer = {
    measure: async () => ({ kind: 'measured', facts: FACTS, poster }) as const,
  };
  const outputFailed = Promise.withResolvers<void>();
  let posterStored = false;
  const storage: Storage = {
    ...deps.storage,
    async put(id, filePath) {
      if (path.basename(filePath) === 'output') {
        setImmediate(outputFailed.resolve);
        throw new Error('the disk is full');
      }
      await outputFailed.promise;
      await deps.storage.put(id, filePath);
      posterStored = true;
    },
  };
  const archiving = archive({ ...deps, storage, outputMeasurer }, await makeArchivingTask());
  await assert.rejects(archiving, /the disk is full/);
  assert.ok(posterStored);
});
