import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { after, test } from 'node:test';
import { openScratchDirectory } from '../../src/kernel/scratch-directory.ts';
import { balances } from '../../src/ledger/ledger.ts';
import { createMeasurer } from '../../src/media/measure.ts';
import { diskStorage } from '../../src/storage/disk.ts';
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
const website = await openTestWebsite({
  ...{ scratch, measurer: createMeasurer({ scratch }) },
  storage: diskStorage(path.join(disk.path, 'objects')),
});
after(async () => {
  await website.close();
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
  const kept = await sql(db, 'select from objects where task_id = $1', [accountId]);
  assert.equal(kept.length, 0);
  const left = await readdir(disk.path, { recursive: true, withFileTypes: true });
  assert.deepEqual(
    left.filter((entry) => entry.isFile()),
    [],
  );
  assert.deepEqual((await balances(db, accountId)).paid, { available: 30, reserved: 0 });
  assert.equal((await send(picture)).status, 201);
});
