import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { openByteSource } from '../../server/src/media/byte-source.ts';
import { drawPoster } from '../../server/src/media/video/poster.ts';
import { diskStorage } from '../../server/src/storage/disk.ts';
import { openWakeUps } from '../../server/src/tasks/wake-ups.ts';
import { quiet } from '../../server/test/database.ts';
import { makeVideo, type TestVideo } from '../../server/test/media/media-files.ts';
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
