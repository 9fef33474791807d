import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { createMeasurer } from '../../src/media/measure.ts';
import { openOutputAt } from '../../src/providers/kit/open-output.ts';
import { readTask } from '../../src/tasks/task.ts';
import { archive } from '../../src/worker/archive.ts';
import { openArchiveFixture } from '../archive-fixture.ts';
import { scriptedProvider } from '../task-fixtures.ts';
import { openDownloads } from './downloads.ts';
import { makeVideo } from './media-files.ts';

const { db, folder, scratch, ...fixture } = await openArchiveFixture('audited');
const { host, open } = await openDownloads();
const guardedFetch = open();
const file = path.join(folder, 'video.mp4');
await makeVideo(file, {});
const video = await readFile(file);

function archiveDeps(url: string, lifeSeconds: number) {
  const provider = scriptedProvider({ openOutput: () => openOutputAt(url, { guardedFetch }) });
  provider.capabilities.outputLifeSeconds = lifeSeconds;
  const outputMeasurer = createMeasurer({ scratch });
  return fixture.archiveDeps({ outputMeasurer, drawsPosters: false, providerOf: () => provider });
}

/** Serves the video with the digest of these bytes. */
function serve(bytes: Uint8Array): string {
  const digest = createHash('sha256').update(bytes).digest('base64');
  const headers = { 'repr-digest': `sha-256=:${digest}:` };
  return host.serve('/output.mp4', { kind: 'bytes', bytes: video, headers });
}

test('an output whose digest is wrong is fetched again, and completes with the right one', async () => {
  const deps = archiveDeps(serve(Buffer.from('another video')), 600);
  const task = await fixture.makeArchivingTask();
  await assert.rejects(archive(deps, task), { name: 'OutboundError', reason: 'not_reachable' });
  assert.equal((await readTask(db, task.id)).phase, 'archiving');
  serve(video);
  await archive(deps, task);
  assert.equal((await readTask(db, task.id)).phase, 'completed');
});

test('an output whose digest stays wrong holds its task when its life is over', async () => {
  const deps = archiveDeps(serve(Buffer.from('another video')), 0);
  const task = await fixture.makeArchivingTask();
  assert.equal(await archive(deps, task), 'postponed');
  const { phase, held_cause } = await readTask(db, task.id);
  assert.deepEqual([phase, held_cause], ['held', 'outcome']);
});
