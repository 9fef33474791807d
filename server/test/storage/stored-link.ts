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

/** Stores the bytes as an object of an app, for a day. @returns its id and a delivery link to it */
export async function storedLink(
  app: TestApp,
  bytes: Uint8Array,
  role: ObjectRole = 'output',
  { isReady = true } = {},
): Promise<{ id: string; link: string }> {
  const { deps } = app;
  const { db } = deps;
  await using folder = await temporaryFolder();
  const filePath = path.join(folder.path, 'video');
  await writeFile(filePath, bytes);
  const file = { filePath, ownerId: newId('task'), role, mediaType: 'video/mp4' };
  const id = await storeFile({ db, storage: deps.storage }, file);
  if (isReady) await markReady(db, [id], 1);
  return { id, link: await linkTo(app, id) };
}

/** A new delivery link to an object. */
export async function linkTo({ deps: { db, links }, url }: TestApp, id: string): Promise<string> {
  const [now] = await db.query<{ seconds: number }>(CLOCK);
  const link = new URL(links.linkTo(id, now?.seconds ?? 0));
  return url + link.pathname + link.search;
}
