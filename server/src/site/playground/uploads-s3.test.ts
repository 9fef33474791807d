import assert from 'node:assert/strict';
import path from 'node:path';
import { after, test } from 'node:test';
import { SMALLEST } from '../../../test/client.ts';
import { mountSmallDisk } from '../../../test/crash/small-disk.ts';
import { assertError } from '../../../test/envelope.ts';
import { imageBytes } from '../../../test/media/media-fixture.ts';
import { simulatedBucket } from '../../../test/storage/simulated-bucket.ts';
import { sql } from '../../../test/task-fixtures.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { until } from '../../../test/until.ts';
import { openTestWebsite } from '../../../test/website/website.ts';
import { openScratchDirectory } from '../../kernel/scratch-directory.ts';
import { createMeasurer } from '../../media/measure.ts';
import { removeUpload } from '../../operator/verbs/objects.ts';
import { openFreeSpace } from '../../storage/free-space.ts';
import { deleteMarked } from '../../storage/objects.ts';
import { openS3Storage } from '../../storage/s3/s3.ts';
import { onReport, type Reports } from '../../telemetry/reports.ts';

const MEGABYTE = 2 ** 20;
const REMOVAL = { command: 'uploads remove', actor: 'ada', reason: 'ticket 95' };

const [bucket, folder] = await Promise.all([simulatedBucket(), temporaryFolder()]);
const disk = await mountSmallDisk(path.join(folder.path, 'data'), 16 * MEGABYTE);
const scratch = openScratchDirectory(path.join(disk.path, 'scratch'));
const reservedBytes = async () => 8 * MEGABYTE; // of outputs, which are not stored here
const space = openFreeSpace({ folder: disk.path, hasObjects: false, reservedBytes });
const storage = await openS3Storage({ ...bucket, pauseMs: 1 });
const measurer = createMeasurer({ scratch });
const website = await openTestWebsite({ scratch, measurer, space, storage });
const picture = await imageBytes('png', 864, 496);
after(async () => {
  await bucket.s3[Symbol.asyncDispose]();
  await disk[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

const keysInBucket = () => [...bucket.objects.keys()];

async function statesOf(accountId: string): Promise<string[]> {
  const text = 'select state from stored_objects where owner_id = $1';
  const rows = await sql<{ state: string }>(website.database.db, text, [accountId]);
  return rows.map(({ state }) => state);
}

test('uploads on their way to the bucket leave room on the disk for tasks', async (t) => {
  if (disk.excuse) return t.skip(disk.excuse);
  const [visitor, customer] = [await website.signIn(), await website.signIn({ credits: 60 })];
  const freeDisk = await disk.fill(3 * MEGABYTE);
  let shown: Reports['disk'] | undefined;
  const stop = onReport('disk', (report) => {
    shown = report;
  });
  await space.refresh();
  stop();
  assert.ok(shown && shown.floors.upload > shown.freeBytes, 'the alert for uploads fires');
  assert.ok(shown.floors.input <= shown.freeBytes, 'the alert for tasks does not');
  const refused = await visitor.upload(picture);
  assertError(refused, 'service_busy');
  assert.equal(refused.headers['retry-after'], '60');
  const created = await customer.create(SMALLEST);
  assert.equal(created.status, 202, 'its output is stored in the bucket');
  let ingested = 0;
  const download = async function* () {
    yield Buffer.alloc(1);
  };
  for await (const part of space.whileFree('input', download())) ingested += part.length;
  assert.equal(ingested, 1);
  await freeDisk();
  await space.refresh();
  assert.equal((await visitor.upload(picture)).status, 201);
});

test('an upload that a busy or broken store does not take leaves nothing behind', async () => {
  const visitor = await website.signIn();
  const before = keysInBucket();
  for (const kind of ['slow_down', 'cut'] as const) {
    bucket.s3.faults.plan({ kind, method: 'PUT', times: 4 });
    const refused = await visitor.upload(picture);
    assertError(refused, 'service_busy');
    assert.equal(refused.headers['retry-after'], '5');
  }
  assert.deepEqual(keysInBucket(), before);
  assert.deepEqual(await statesOf(visitor.accountId), ['deleting', 'deleting']);
  bucket.s3.faults.plan({ kind: 'lost_response', method: 'PUT' });
  assert.equal((await visitor.upload(picture)).status, 201);
  assert.equal(keysInBucket().length, before.length + 1);
});

test('an upload that an operator removes while it is stored is not left in the bucket', async () => {
  const visitor = await website.signIn();
  const { db } = website.database;
  const before = keysInBucket();
  bucket.s3.faults.plan({ kind: 'slow', method: 'PUT' });
  const sent = visitor.upload(picture);
  const text = 'select object_id as id from uploads where account_id = $1';
  const [row] = await until(
    () => sql<{ id: string }>(db, text, [visitor.accountId]),
    ({ length }) => length === 1,
  );
  await removeUpload(db, REMOVAL, row?.id ?? '');
  await deleteMarked({ db, storage: website.deps.storage });
  assertError(await sent, 'service_busy');
  assert.deepEqual(keysInBucket(), before);
});

test('an upload whose bytes have just been removed is not found, without a retry', async () => {
  const visitor = await website.signIn();
  const { body } = await visitor.upload(picture);
  const [key = ''] = keysInBucket().filter((one) => one.endsWith(body.id));
  bucket.objects.delete(key);
  const file = await visitor.get(`/console/api/uploads/${body.id}/file`);
  assertError(file, 'not_found');
});
