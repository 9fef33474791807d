import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { after, test } from 'node:test';
import { openScratchDirectory } from '../../src/kernel/scratch-directory.ts';
import { balances } from '../../src/ledger/ledger.ts';
import { createMeasurer } from '../../src/media/measure.ts';
import { openUploads } from '../../src/requests/receive-upload.ts';
import { diskStorage } from '../../src/storage/disk.ts';
import { type FreeSpace, openFreeSpace } from '../../src/storage/free-space.ts';
import { reservedOutputBytes } from '../../src/tasks/create/new-task.ts';
import { SMALLEST } from '../client.ts';
import { assertError } from '../envelope.ts';
import { imageBytes } from '../media/media-fixture.ts';
import { sql } from '../task-fixtures.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { openTestWebsite } from '../website/website.ts';
import { mountSmallDisk } from './small-disk.ts';

const MEGABYTE = 2 ** 20;

const folder = await temporaryFolder();
const disk = await mountSmallDisk(path.join(folder.path, 'data'), 16 * MEGABYTE);
const skip = disk.excuse ?? false;
const scratch = openScratchDirectory(path.join(disk.path, 'scratch'));
// Until it measures the disk, it limits nothing.
let space: FreeSpace;
const website = await openTestWebsite(async (db) => {
  const reservedBytes = () => reservedOutputBytes(db);
  space = openFreeSpace({ folder: disk.path, hasObjects: true, reservedBytes });
  const storage = diskStorage(path.join(disk.path, 'objects'));
  const measurer = createMeasurer({ scratch });
  return { space, storage, uploads: openUploads({ db, storage, scratch, measurer, space }) };
});
after(async () => {
  await disk[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

test('a disk that is full while an upload arrives: try again, and nothing is left', {
  skip,
}, async () => {
  const { cookie, accountId } = await website.signIn({ credits: 30 });
  // By a real connection: the response must arrive although the disk takes no more of the body.
  const send = async (body: Buffer) => {
    const headers = { cookie, origin: 'http://localhost:8080', 'content-type': 'image/png' };
    const url = `${website.url}/console/api/uploads`;
    const response = await fetch(url, { method: 'POST', headers, body: new Uint8Array(body) });
    const { error } = (await response.json()) as { error?: { code: string } };
    return { status: response.status, code: error?.code };
  };
  const large = await send(randomBytes(40 * MEGABYTE));
  assert.deepEqual(large, { status: 503, code: 'service_busy' });
  const freeDisk = await disk.fill();
  const picture = await imageBytes('png', 864, 496);
  assert.equal((await send(picture)).code, 'service_busy');
  await freeDisk();
  const { db } = website.database;
  const kept = await sql(db, 'select from stored_objects where owner_id = $1', [accountId]);
  assert.equal(kept.length, 0);
  const left = await readdir(disk.path, { recursive: true, withFileTypes: true });
  assert.deepEqual(
    left.filter((entry) => entry.isFile()),
    [],
  );
  assert.deepEqual((await balances(db, accountId)).paid, { available: 30, reserved: 0 });
  assert.equal((await send(picture)).status, 201);
});

/** Of a disk of 16 MB, 40 % must stay free of uploads, and 20 % of inputs. */
const LEFT_BYTES = 6 * MEGABYTE;
test('uploads stop while there is room for tasks, and tasks stop while theirs fit', {
  skip,
}, async () => {
  const [visitor, customer] = [await website.signIn(), await website.signIn({ credits: 120 })];
  const picture = await imageBytes('png', 864, 496);
  const freeDisk = await disk.fill(LEFT_BYTES);
  await space.refresh();
  const refused = await visitor.upload(picture);
  assertError(refused, 'service_busy');
  assert.equal(refused.headers['retry-after'], '60');
  assert.equal((await customer.create(SMALLEST)).status, 202);
  const key = crypto.randomUUID();
  const assertNotTaken = async () => {
    const busy = await customer.create(SMALLEST, key);
    assertError(busy, 'service_busy');
    assert.equal(busy.body.error.details.reason, 'not_taken');
  };
  await assertNotTaken();
  await space.refresh(); // from now on, the database says what is reserved
  await assertNotTaken();
  const { db } = website.database;
  assert.deepEqual((await balances(db, customer.accountId)).paid, { available: 60, reserved: 60 });
  await freeDisk();
  await space.refresh();
  assert.equal((await customer.create(SMALLEST, key)).status, 202);
  assert.equal((await visitor.upload(picture)).status, 201);
});

test('an upload counts from its first byte, and ends when others have filled the disk', {
  skip,
}, async () => {
  await space.refresh();
  const never = new Promise<void>(() => {});
  void space.withUploadSpace(4 * MEGABYTE, () => never);
  const ofOther = space.withUploadSpace(2 * MEGABYTE, async () => {});
  await assert.rejects(ofOther, { name: 'DiskFull' });
  let freeDisk = async () => {};
  const parts = async function* () {
    yield Buffer.from('first');
    freeDisk = await disk.fill(LEFT_BYTES);
    await space.refresh();
    yield Buffer.from('second');
  };
  const read: string[] = [];
  const reading = async () => {
    for await (const part of space.whileFree('upload', parts())) read.push(String(part));
  };
  await assert.rejects(reading(), { name: 'DiskFull' });
  assert.deepEqual(read, ['first']);
  await freeDisk();
});
