import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { newId } from '../../src/kernel/ids.ts';
import type { S3Credentials } from '../../src/storage/s3/client.ts';
import { openS3Storage } from '../../src/storage/s3/s3.ts';
import type { S3Settings } from '../../src/storage/s3/settings.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';
import { putBytes } from './conformance.ts';

/** A bucket that exists, and who may use it. */
export interface S3Bucket {
  settings: S3Settings;
  credentials: S3Credentials;
}

const BYTES = Buffer.from('0123456789');
const LINK = { seconds: 60, mediaType: 'video/mp4', fileName: 'a.mp4' };

/** Tests of what an S3 storage promises beyond every storage, against any S3 server. */
export function testS3Storage(name: string, bucket: () => Promise<S3Bucket>): void {
  const check: Check = (title, work) =>
    test(`${name}: ${title}`, async () => work(await openS3Storage(await bucket())));

  testPresignedLinks(check);
  testPresignedPuts(check);

  check('an object is never replaced, and the same bytes may be put again', async (storage) => {
    await using folder = await temporaryFolder();
    const file = path.join(folder.path, 'file');
    const id = newId('object');
    await writeFile(file, 'first bytes');
    await storage.put(id, file);
    await storage.put(id, file);
    await writeFile(file, 'other bytes');
    await assert.rejects(storage.put(id, file), /not replaced/);
    assert.equal(String(await buffer(await storage.open(id))), 'first bytes');
  });

  check('an object of 9 MB arrives byte for byte, whole and in parts', async (storage) => {
    const bytes = Buffer.alloc(9_000_000, 'many bytes ');
    const id = await putBytes(storage, bytes);
    assert.ok(bytes.equals(await buffer(await storage.open(id))));
    const [first, last] = [4_000_000, 8_999_999];
    const part = await buffer(await storage.open(id, { first, last }));
    assert.ok(bytes.subarray(first).equals(part));
  });

  check('readers that stop early do not use up the connections', async (storage) => {
    const id = await putBytes(storage, Buffer.alloc(2_000_000));
    for (let i = 0; i < 60; i += 1) (await storage.open(id)).destroy();
    assert.equal((await buffer(await storage.open(id))).length, 2_000_000);
  });
  testS3Start(name, bucket);
}

type Check = (title: string, work: (storage: Storage) => Promise<void>) => void;

function testPresignedLinks(check: Check): void {
  check(
    'a presigned link returns the bytes or a range, the type and the file name',
    async (storage) => {
      const link = await linkTo(storage, await putBytes(storage, BYTES));
      const response = await fetch(link);
      assert.equal(response.status, 200);
      assert.equal(response.headers.get('content-type'), 'video/mp4');
      assert.equal(response.headers.get('content-disposition'), 'inline; filename="a.mp4"');
      assert.equal(response.headers.get('content-encoding'), null);
      assert.equal(await response.text(), '0123456789');
      const part = await fetch(link, { headers: { range: 'bytes=3-5' } });
      assert.deepEqual([part.status, await part.text()], [206, '345']);
      assert.equal(part.headers.get('content-range'), 'bytes 3-5/10');
    },
  );

  check('a presigned link that was changed, or has expired, is refused', async (storage) => {
    const link = await linkTo(storage, await putBytes(storage, BYTES));
    for (const [part, other] of [
      ['X-Amz-Expires=60', 'X-Amz-Expires=61'],
      ['a.mp4', 'b.mp4'],
      [/Signature=./, 'Signature=!'],
    ] as const) {
      assert.notEqual((await fetch(link.replace(part, other))).status, 200, other);
    }
    const brief = await linkTo(storage, await putBytes(storage, BYTES), 1);
    await until(
      () => fetch(brief),
      ({ status }) => status === 403,
    );
  });

  check('a deleted object is gone for its presigned links too', async (storage) => {
    const id = await putBytes(storage, BYTES);
    const link = await linkTo(storage, id);
    await storage.delete(id);
    assert.equal((await fetch(link)).status, 404);
  });
}

function testPresignedPuts(check: Check): void {
  check('a presigned PUT stores a file of its size and type, and no other', async (storage) => {
    const id = newId('object');
    const options = { seconds: 60, mediaType: 'image/png', sizeBytes: BYTES.length };
    const { url, headers } = (await storage.presignPut?.(id, options)) ?? assert.fail();
    const put = (body: Buffer, mediaType: string) =>
      fetch(url, {
        method: 'PUT',
        headers: { 'content-type': mediaType },
        body: new Uint8Array(body),
      });
    assert.equal(headers['content-length'], String(BYTES.length)); // fetch sets it by itself
    assert.equal((await put(BYTES.subarray(1), 'image/png')).status, 403);
    assert.equal((await put(BYTES, 'text/html')).status, 403);
    assert.equal(await storage.sizeOf(id), undefined);
    assert.equal((await put(BYTES, 'image/png')).status, 200);
    assert.equal(await storage.sizeOf(id), BYTES.length);
    assert.equal(String(await buffer(await storage.open(id))), String(BYTES));
    await storage.delete(id);
    assert.equal(await storage.sizeOf(id), undefined);
  });
}

function testS3Start(name: string, bucket: () => Promise<S3Bucket>): void {
  test(`${name}: a start says plainly what is missing`, async () => {
    const { settings, credentials } = await bucket();
    const refusal = (change: Partial<S3Settings>, by: Partial<S3Credentials> = {}) =>
      openS3Storage({
        settings: { ...settings, ...change },
        credentials: { ...credentials, ...by },
      }).then(
        () => assert.fail('the start succeeded'),
        (error: Error) => `${error.name}: ${error.message}`,
      );
    assert.match(await refusal({}, { secretAccessKey: 'wrong' }), /^UsageError: .*secret key is w/);
    assert.match(await refusal({}, { accessKeyId: 'stranger' }), /^UsageError: .*access key/);
    const unreachable = await refusal({ endpoint: 'http://127.0.0.1:1' });
    assert.match(unreachable, /^UsageError: .*ECONNREFUSED.*endpoint is right/);
  });
}

async function linkTo(storage: Storage, id: string, seconds = LINK.seconds): Promise<string> {
  const link = await storage.presign?.(id, { ...LINK, seconds });
  assert.ok(link?.worksUntilExpiry);
  return link.url;
}
