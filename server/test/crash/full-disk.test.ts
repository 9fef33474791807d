import assert from 'node:assert/strict';
import path from 'node:path';
import { after, test } from 'node:test';
import { betweenRenderAndArchive, imageBytes, openMediaFixture } from '../media/media-fixture.ts';
import { FRAMES } from '../media/refused-media.ts';
import { sql } from '../task-fixtures.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';
import { mountSmallDisk } from './small-disk.ts';

const DISK_BYTES = 32 * 2 ** 20;
const CREDITS = 60;

const folder = await temporaryFolder();
const disk = await mountSmallDisk(path.join(folder.path, 'data'), DISK_BYTES);
const skip = disk.excuse ?? false;
const fixture = skip === false ? await openMediaFixture({ dataDir: disk.path }) : undefined;
after(async () => {
  await fixture?.close().finally(() => disk[Symbol.asyncDispose]());
  await folder[Symbol.asyncDispose]();
});

test('a disk too full for the inputs: the task is refunded, and the same key works later', {
  skip,
}, async () => {
  assert.ok(fixture);
  const image = await imageBytes('png', 864, 496);
  const image_url = fixture.host.serve('/picture.png', { kind: 'bytes', bytes: image });
  const customer = await fixture.customer(CREDITS);
  const key = crypto.randomUUID();
  const freeDisk = await disk.fill();
  const busy = await customer.create({ ...FRAMES, image_url }, key);
  assert.equal(busy.status, 503, JSON.stringify(busy.body));
  assert.equal(busy.body.error.code, 'service_busy');
  assert.equal(busy.body.error.details.credits, 'refunded');
  assert.ok(Number(busy.headers.get('retry-after')) > 0);
  assert.equal((await customer.credits()).body.available_credits, CREDITS);

  await freeDisk();
  const accepted = await customer.create({ ...FRAMES, image_url }, key);
  assert.equal(accepted.status, 202, JSON.stringify(accepted.body));
  const { phase } = await fixture.settled(accepted.body.id);
  assert.equal(phase, 'completed');
});

test('a disk too full for the output: the task waits and loses nothing', { skip }, async () => {
  assert.ok(fixture);
  const customer = await fixture.customer(CREDITS);
  const { body } = await customer.create({ ...FRAMES, mode: 'text-to-video' });
  let freeDisk = async () => {};
  await betweenRenderAndArchive(fixture, body.id, async () => {
    freeDisk = await disk.fill();
  });
  const { db } = fixture;
  await until(
    () => sql(db, "select 1 from tasks where phase = 'archiving' and internal_failures > 0"),
    (rows) => rows.length > 0,
  );
  assert.equal((await customer.task(body.id)).body.status, 'processing');
  await freeDisk();
  const { phase } = await fixture.settled(body.id);
  assert.equal(phase, 'completed');
});

test('a disk too full for the render: the task waits and loses nothing', { skip }, async () => {
  assert.ok(fixture);
  const customer = await fixture.customer(CREDITS);
  const freeDisk = await disk.fill();
  const { status, body } = await customer.create({ ...FRAMES, mode: 'text-to-video' });
  assert.equal(status, 202);
  const { db } = fixture;
  await until(
    () => sql(db, 'select 1 from local_jobs where renders > 0'),
    (rows) => rows.length > 0,
  );
  await freeDisk();
  const { phase } = await fixture.settled(body.id);
  assert.equal(phase, 'completed');
});
