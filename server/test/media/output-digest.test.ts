import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, test } from 'node:test';
import { openScratchDirectory } from '../../src/kernel/scratch-directory.ts';
import { createMeasurer } from '../../src/media/measure.ts';
import { openOutputAt } from '../../src/providers/kit/open-output.ts';
import { diskStorage } from '../../src/storage/disk.ts';
import { readTask } from '../../src/tasks/task.ts';
import { moveNow } from '../../src/tasks/transitions.ts';
import { type ArchiveDeps, archive } from '../../src/worker/archive.ts';
import {
  makeSubmittingTask,
  openTaskFixture,
  recordAccepted,
  scriptedProvider,
} from '../task-fixtures.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { openDownloads } from './downloads.ts';
import { makeVideo } from './media-files.ts';

const fixture = await openTaskFixture();
const folder = await temporaryFolder();
const { host, open } = await openDownloads();
const guardedFetch = open();
const file = path.join(folder.path, 'video.mp4');
await makeVideo(file, {});
const video = await readFile(file);
after(async () => {
  await fixture.closeAudited();
  await folder[Symbol.asyncDispose]();
});

async function archivingTask() {
  const { task } = await makeSubmittingTask(fixture);
  await recordAccepted(fixture.db, task.id);
  const generating = await moveNow(fixture.db, task, { to: 'generating' });
  return moveNow(fixture.db, generating, { to: 'archiving', changes: { providerOutput: {} } });
}

function archiveDeps(url: string, lifeSeconds: number): ArchiveDeps {
  const scratch = openScratchDirectory(path.join(folder.path, 'scratch'));
  const provider = scriptedProvider({
    openOutput: () => openOutputAt(url, { guardedFetch }),
  });
  provider.capabilities.outputLifeSeconds = lifeSeconds;
  return {
    db: fixture.db,
    storage: diskStorage(path.join(folder.path, 'objects')),
    scratch,
    outputMeasurer: createMeasurer({ scratch }),
    outputFrames: 'keyframes',
    drawsPosters: false,
    providerOf: () => provider,
    retentionDays: 7,
    reconcileSeconds: 60,
  };
}

/** Serves the video with the digest of these bytes. */
function serve(bytes: Uint8Array): string {
  const digest = createHash('sha256').update(bytes).digest('base64');
  const headers = { 'repr-digest': `sha-256=:${digest}:` };
  return host.serve('/output.mp4', { kind: 'bytes', bytes: video, headers });
}

test('an output whose digest is wrong is fetched again, and completes with the right one', async () => {
  const deps = archiveDeps(serve(Buffer.from('another video')), 600);
  const task = await archivingTask();
  await assert.rejects(archive(deps, task), { name: 'OutboundError', reason: 'not_reachable' });
  assert.equal((await readTask(fixture.db, task.id)).phase, 'archiving');
  serve(video);
  await archive(deps, task);
  assert.equal((await readTask(fixture.db, task.id)).phase, 'completed');
});

test('an output whose digest stays wrong holds its task when its life is over', async () => {
  const deps = archiveDeps(serve(Buffer.from('another video')), 0);
  const task = await archivingTask();
  assert.equal(await archive(deps, task), 'postponed');
  const { phase, held_cause } = await readTask(fixture.db, task.id);
  assert.deepEqual([phase, held_cause], ['held', 'outcome']);
});
