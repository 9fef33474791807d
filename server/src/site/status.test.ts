import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../test/task-fixtures.ts';
import { openTestWebsite } from '../../test/website/website.ts';
import type { GenerationRequest } from '../catalog/request.ts';
import { endPause, pause } from '../providers/circuit-breaker/pauses.ts';

const website = await openTestWebsite({
  routing: {
    connectionsFor: () => [{ connection: 'local' }],
    usualConnectionsFor: ({ model, resolution }: GenerationRequest) => {
      if (model === 'video-2.0-mini') return [];
      return resolution === '1080p' ? ['fal'] : ['ark', 'fal'];
    },
  },
});
const { db } = website.database;

async function status() {
  const { status: code, body } = await website.stranger.get('/status.json');
  assert.equal(code, 200);
  const items: { model: string; resolution: string; works: boolean; usual_seconds: number }[] =
    body.items;
  return Object.fromEntries(
    items.map(({ model, resolution, works, usual_seconds: seconds }) => {
      return [`${model} ${resolution}`, [works, seconds]];
    }),
  );
}

const paused = (...subjects: string[]) =>
  db.transaction(async (tx) => {
    for (const subject of subjects) await pause(tx, subject, 'a test');
  });

test('a model works while a connection of its route takes jobs, and no provider is named', async () => {
  const none = await status();
  assert.deepEqual(none['video-2.0 720p'], [false, null], 'no worker runs');
  const insert = `insert into workers (id, providers, ingest_places, seen_at)
    values ('w', '{ark,fal}', 1, clock_now())`;
  await sql(db, insert);
  const add = `insert into job_times values ('ark', 'video-2.0', '720p', 5, 30, 100, 0),
      ('ark', 'video-2.0', '720p', 10, 10, 200, 0), ('fal', 'video-2.0', '720p', 5, 40, 25, 0),
      ('fal', 'video-2.0', '1080p', 5, 2, 25, 0), ('local', 'video-2.0', '720p', 5, 90, 1, 0)`;
  await sql(db, add);
  const open = await status();
  assert.deepEqual(open['video-2.0 720p'], [true, 75]);
  assert.deepEqual(open['video-2.0 1080p'], [true, null], 'too few jobs');
  assert.deepEqual(open['video-2.0-mini 720p'], [false, null], 'nothing can make it');
  assert.equal(open['video-2.0-mini 1080p'], undefined, 'not on sale');
  await paused('fal');
  const partly = await status();
  assert.deepEqual(partly['video-2.0 720p'], [true, 125]);
  assert.deepEqual(partly['video-2.0 1080p'], [false, null]);
  await paused('ark');
  assert.deepEqual((await status())['video-2.0 720p'], [false, 75]);
  await db.transaction(async (tx) => {
    await endPause(tx, 'ark');
    await endPause(tx, 'fal');
  });
  await paused('creates');
  assert.deepEqual((await status())['video-2.0 720p'], [false, 75]);
  const { body } = await website.stranger.get('/status.json');
  assert.doesNotMatch(JSON.stringify(body), /\b(ark|fal|local)\b/);
});
