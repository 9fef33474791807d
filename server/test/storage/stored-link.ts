import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { statement } from '../../src/database/database.ts';
import { newId } from '../../src/kernel/ids.ts';
import { markReady, type ObjectRole, storeFile } from '../../src/storage/objects.ts';
import type { TestApp } from '../app.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const CLOCK = statement(
  'test_stored_link_now',
  'select extract(epoch from clock_now())::float8 as seconds',
);

/** Stores the bytes as a ready object of an app. @returns its id and a delivery link to it */
export async function storedLink(
  { deps, database: { db }, url }: TestApp,
  bytes: Uint8Array,
  role: ObjectRole = 'output',
): Promise<{ id: string; link: string }> {
  await using folder = await temporaryFolder();
  const filePath = path.join(folder.path, 'video');
  await writeFile(filePath, bytes);
  const file = { filePath, ownerId: newId('task'), role, mediaType: 'video/mp4' };
  const id = await storeFile({ db, storage: deps.storage }, file);
  await markReady(db, [id], 1);
  const [now] = await db.query<{ seconds: number }>(CLOCK);
  const link = new URL(deps.links.linkTo(id, now?.seconds ?? 0));
  return { id, link: url + link.pathname + link.search };
}
