import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { betweenRenderAndArchive, imageBytes, openMediaFixture } from '../media/media-fixture.ts';
import { FRAMES } from '../refusal.ts';
import { temporaryFolder, until } from '../service.ts';
import { sql } from '../task-fixtures.ts';

const run = promisify(execFile);
const DISK_BYTES = 32 * 2 ** 20;
const CREDITS = 60;

const folder = await temporaryFolder();
const mounted = await run('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'none', folder.path])
  .then(() => true)
  .catch(() => false);
const skip = mounted ? false : 'a small disk can only be mounted by root, on Linux';
const fixture = mounted ? await openMediaFixture({ dataDir: folder.path }) : undefined;
after(async () => {
  await fixture?.close().finally(() => run('umount', [folder.path]));
  await folder[Symbol.asyncDispose]();
});

/** Fills the disk to the last byte; the returned function makes room again. */
async function fillDisk(): Promise<() => Promise<void>> {
  const ballast = path.join(folder.path, 'ballast');
  await assert.rejects(writeFile(ballast, Buffer.alloc(2 * DISK_BYTES)), { code: 'ENOSPC' });
  return () => rm(ballast);
}

test('a disk too full for the inputs refunds, and the same key works later', { skip }, async () => {
  assert.ok(fixture);
  const image = await imageBytes('png', 864, 496);
  const image_url = fixture.host.serve('/picture.png', { kind: 'bytes', bytes: image });
  const customer = await fixture.customer(CREDITS);
  const key = crypto.randomUUID();
  const makeRoom = await fillDisk();
  const busy = await customer.create({ ...FRAMES, image_url }, key);
  assert.equal(busy.status, 503, JSON.stringify(busy.body));
  assert.equal(busy.body.error.code, 'service_busy');
  assert.equal(busy.body.error.details.credits, 'refunded');
  assert.ok(Number(busy.headers.get('retry-after')) > 0);
  assert.equal((await customer.credits()).body.available_credits, CREDITS);

  await makeRoom();
  const accepted = await customer.create({ ...FRAMES, image_url }, key);
  assert.equal(accepted.status, 202, JSON.stringify(accepted.body));
  const { phase } = await fixture.settled(accepted.body.id);
  assert.equal(phase, 'completed');
});

test('a disk too full for the output delays the task and loses nothing', { skip }, async () => {
  assert.ok(fixture);
  const customer = await fixture.customer(CREDITS);
  const { body } = await customer.create({ ...FRAMES, mode: 'text-to-video' });
  let makeRoom = async () => {};
  await betweenRenderAndArchive(fixture, body.id, async () => {
    makeRoom = await fillDisk();
  });
  const { db } = fixture;
  await until(
    () => sql(db, "select 1 from tasks where phase = 'archiving' and internal_failures > 0"),
    (rows) => rows.length > 0,
  );
  assert.equal((await customer.task(body.id)).body.status, 'processing');
  await makeRoom();
  const { phase } = await fixture.settled(body.id);
  assert.equal(phase, 'completed');
});

test('a disk too full to render on delays the task and loses nothing', { skip }, async () => {
  assert.ok(fixture);
  const customer = await fixture.customer(CREDITS);
  const makeRoom = await fillDisk();
  const { status, body } = await customer.create({ ...FRAMES, mode: 'text-to-video' });
  assert.equal(status, 202);
  const { db } = fixture;
  await until(
    () => sql(db, 'select 1 from local_jobs where renders > 0'),
    (rows) => rows.length > 0,
  );
  await makeRoom();
  const { phase } = await fixture.settled(body.id);
  assert.equal(phase, 'completed');
});
