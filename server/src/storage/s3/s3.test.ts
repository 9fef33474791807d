import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { putBytes, testStorage } from '../../../test/storage/conformance.ts';
import { testS3Storage } from '../../../test/storage/s3-conformance.ts';
import { simulatedBucket } from '../../../test/storage/simulated-bucket.ts';
import { newId } from '../../kernel/ids.ts';
import { ObjectMissing } from '../storage.ts';
import { openS3Storage } from './s3.ts';

const BYTES = Buffer.from('0123456789');
const bucket = await simulatedBucket();
after(() => bucket.s3[Symbol.asyncDispose]());

testStorage('s3', () => openS3Storage(bucket));
testS3Storage('s3', async () => bucket);

/** A storage, what it repeated, and the keys that the bucket then has. */
async function opened() {
  const repeated: string[] = [];
  const onRetry = (_id: string, error: unknown) => void repeated.push(String(error));
  const storage = await openS3Storage({ ...bucket, onRetry, pauseMs: 1 });
  const stored = (id: string) => bucket.objects.get(`a prefix/b/${id}`)?.bytes;
  return { storage, repeated, stored };
}

for (const [kind, error] of [
  ['slow_down', /SlowDown/],
  ['cut', /ECONNRESET|EPIPE|socket hang up/],
  ['altered', /XAmzContentSHA256Mismatch|BadDigest/],
  ['lost_response', /ECONNRESET|socket hang up/],
] as const) {
  test(`s3: a put that fails twice (${kind}) is repeated with all its bytes`, async () => {
    const { storage, repeated, stored } = await opened();
    bucket.s3.faults.plan({ kind, method: 'PUT', times: kind === 'lost_response' ? 1 : 2 });
    const id = await putBytes(storage, BYTES);
    assert.deepEqual(stored(id), BYTES);
    assert.equal(repeated.length, kind === 'lost_response' ? 1 : 2);
    for (const text of repeated) assert.match(text, error);
  });
}

test('s3: a put that goes on failing ends with the store’s error and stores nothing', async () => {
  const { storage, repeated } = await opened();
  const before = bucket.objects.size;
  bucket.s3.faults.plan({ kind: 'slow_down', method: 'PUT', times: 4 });
  await assert.rejects(putBytes(storage, BYTES), { name: 'SlowDown' });
  assert.equal(repeated.length, 3);
  bucket.s3.faults.plan({ kind: 'denied', method: 'PUT' });
  await assert.rejects(putBytes(storage, BYTES), { name: 'AccessDenied' });
  assert.equal(repeated.length, 3, 'a definite refusal is not repeated');
  assert.equal(bucket.objects.size, before);
});

test('s3: when the clocks differ by an hour, calls are signed with the store’s time', async () => {
  const { storage, stored } = await opened();
  bucket.s3.setClock(3600);
  try {
    const id = await putBytes(storage, BYTES);
    assert.deepEqual(stored(id), BYTES);
    assert.equal(String(await buffer(await storage.open(id))), '0123456789');
    const link = await storage.presign?.(id, { seconds: 60, mediaType: 'a/b', fileName: 'a' });
    assert.equal((await fetch(link?.url ?? '')).status, 200);
  } finally {
    bucket.s3.setClock(0);
  }
});

/** Temporary credentials that the store knows. */
function temporary(name: string) {
  bucket.s3.credentials.push({ accessKey: name, secretKey: name, sessionToken: `${name}+b/c=` });
  return { accessKeyId: name, secretAccessKey: name, sessionToken: `${name}+b/c=` };
}

test('s3: credentials that expire during an upload are renewed, and the put is repeated', async () => {
  const [before, renewed] = [temporary('before'), temporary('renewed')];
  const expiration = new Date(Date.now() + 3_600_000);
  let current = before;
  const credentials = async () => ({ ...current, expiration });
  const storage = await openS3Storage({ ...bucket, credentials, pauseMs: 1 });
  bucket.s3.expired.add('before');
  current = renewed;
  const id = await putBytes(storage, BYTES);
  assert.equal(String(await buffer(await storage.open(id))), '0123456789');
});

test('s3: a read whose bytes were altered or cut on the way fails', async () => {
  const { storage } = await opened();
  const id = await putBytes(storage, Buffer.alloc(1_000_000, 7));
  for (const kind of ['altered', 'cut'] as const) {
    bucket.s3.faults.plan({ kind, method: 'GET' });
    await assert.rejects(async () => buffer(await storage.open(id)), kind);
  }
  assert.equal((await buffer(await storage.open(id))).length, 1_000_000);
});

test('s3: a missing bucket is not reported as a missing object', async () => {
  const { storage } = await opened();
  const objects = bucket.s3.buckets.get('videos');
  assert.ok(objects);
  bucket.s3.buckets.delete('videos');
  try {
    await assert.rejects(storage.open(newId('object')), (error: Error) => {
      return error.name === 'NoSuchBucket' && !(error instanceof ObjectMissing);
    });
  } finally {
    bucket.s3.buckets.set('videos', objects);
  }
});

test('s3: a store without conditional puts is used without them, and says so', async () => {
  const says: string[] = [];
  bucket.s3.setConditional(false);
  try {
    const storage = await openS3Storage({ ...bucket, onMayReplace: () => says.push('replaces') });
    const id = await putBytes(storage, BYTES);
    assert.equal(String(await buffer(await storage.open(id))), '0123456789');
  } finally {
    bucket.s3.setConditional(true);
  }
  assert.deepEqual(says, ['replaces']);
});

test('s3: a start leaves nothing in the bucket, and asks for each permission', async () => {
  const keys = () => [...bucket.objects.keys()];
  await openS3Storage(bucket);
  assert.ok(!keys().some((key) => key.includes('probe')));
  for (const [method, permission] of [
    ['PUT', 's3:PutObject'],
    ['GET', 's3:GetObject'],
    ['DELETE', 's3:DeleteObject'],
  ] as const) {
    bucket.s3.faults.plan({ kind: 'denied', method });
    await assert.rejects(openS3Storage(bucket), (error: Error) => {
      return error.name === 'UsageError' && error.message.includes(`Allow ${permission}`);
    });
  }
});

test('s3: a link of temporary credentials works, and is known to end early', async () => {
  const storage = await openS3Storage({ ...bucket, credentials: temporary('other') });
  const id = await putBytes(storage, BYTES);
  const link = await storage.presign?.(id, { seconds: 60, mediaType: 'a/b', fileName: 'a' });
  assert.equal(link?.worksUntilExpiry, false);
  assert.equal((await fetch(link?.url ?? '')).status, 200);
});
