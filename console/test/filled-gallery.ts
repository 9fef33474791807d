import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { openByteSource } from '../../server/src/media/byte-source.ts';
import { drawPoster } from '../../server/src/media/video/poster.ts';
import { diskStorage } from '../../server/src/storage/disk.ts';
import { openWakeUps } from '../../server/src/tasks/wake-ups.ts';
import { quiet } from '../../server/test/database.ts';
import { makeVideo, type TestVideo } from '../../server/test/media/media-files.ts';
import { sql } from '../../server/test/task-fixtures.ts';
import { until } from '../../server/test/until.ts';
import { taskMaker } from '../../server/test/website/own-tasks.ts';
import type { Site } from './site.ts';

/**
 * Makes tasks of an account, whose provider no worker has.
 * @param dataDir the DATA_DIR of the service
 */
export function galleryMaker({ database }: Site, dataDir: string) {
  const { db, url } = database;
  const storage = diskStorage(path.join(dataDir, 'objects'));
  const wakeUps = openWakeUps({ url, db, log: quiet });
  return taskMaker({ db, wakeUps, storage, log: quiet, providerName: 'nobody' });
}

/** The bytes of a short video, and its poster. */
export async function shortVideo(dataDir: string, options: TestVideo) {
  const filePath = path.join(dataDir, crypto.randomUUID());
  await makeVideo(filePath, { seconds: 2, ...options });
  using file = openByteSource(filePath);
  const poster = await drawPoster(file, 'mov');
  assert.ok(poster);
  return { video: await readFile(filePath), poster };
}

const VIDEOS: [prompt: string, TestVideo][] = [
  [
    'A lighthouse at dawn, waves breaking over black rocks, a slow aerial shot, mist from the sea',
    { width: 640, height: 360 },
  ],
  ['Ink in water', { width: 360, height: 640, filters: 'hue=h=90' }],
  ['A paper crane unfolds on a walnut desk', { width: 480, height: 480, filters: 'hue=h=180' }],
  ['A fox in fresh snow', { width: 840, height: 360, filters: 'hue=s=0.3' }],
];
const DAY_MS = 86_400_000;

/** Fills the gallery of an account with tasks in every state. */
export async function fillGallery(site: Site, accountId: string, dataDir: string) {
  const { db } = site.database;
  const make = galleryMaker(site, dataDir);
  const completed: string[] = [];
  for (const [day, [prompt, options]] of VIDEOS.entries()) {
    const createdAt = new Date(Date.now() - (2 * day + 1) * DAY_MS).toISOString();
    const files = await shortVideo(dataDir, options);
    completed.push(await make(accountId, { prompt, ...files, createdAt, ended: 'completed' }));
  }
  const failed = await make(accountId, {
    prompt: 'A city made of glass',
    ended: 'content_refused',
    surface: 'web',
  });
  const [live, held] = [
    await make(accountId, { prompt: 'Dunes at noon', surface: 'web' }),
    await make(accountId, { prompt: 'A night market seen from above' }),
  ];
  await sql(db, `update tasks set phase = 'generating' where id = $1`, [live]);
  await sql(db, `update tasks set phase = 'held', held_cause = 'acceptance' where id = $1`, [held]);
  const [, tested = ''] = await testVideos(site, accountId, make);
  return { accountId, completed: completed[0] ?? '', failed, live, held, tested };
}

/** Makes a refused and a completed task in test mode; the service runs them. */
async function testVideos(
  { database: { db } }: Site,
  accountId: string,
  make: ReturnType<typeof galleryMaker>,
): Promise<string[]> {
  const ids: string[] = [];
  for (const prompt of ['A harbour test-refused', 'A harbour']) {
    ids.push(await make(accountId, { prompt, surface: 'test' }));
  }
  const live = 'select from tasks where id = any($1) and due_at is not null';
  await until(
    () => sql(db, live, [ids]),
    (rows) => rows.length === 0,
    30,
  );
  return ids;
}
