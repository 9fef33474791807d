import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openTestApp } from '../../../test/app.ts';
import { assertError } from '../../../test/envelope.ts';
import { imageBytes } from '../../../test/media/media-fixture.ts';
import { simulatedBucket } from '../../../test/storage/simulated-bucket.ts';
import { sql } from '../../../test/task-fixtures.ts';
import { ingestTask } from '../../../test/website/uploads.ts';
import { removeUpload } from '../../operator/verbs/objects.ts';
import { deleteMarked, markExpired } from '../../storage/objects.ts';
import { openS3Storage } from '../../storage/s3/s3.ts';
import { auditStorage } from '../../storage/vanished.ts';
import { QUOTA_BYTES } from '../../uploads/quota.ts';

const DAY = 86_400;

const bucket = await simulatedBucket();
const api = await openTestApp({ storage: await openS3Storage({ ...bucket, pauseMs: 1 }) });
const customer = await api.customer(2000);
const picture = await imageBytes('png', 864, 496);
after(() => bucket.s3[Symbol.asyncDispose]());

/** The keys of an upload in the bucket. */
const keysOf = (id: string) => [...bucket.objects.keys()].filter((key) => key.endsWith(id));

async function presigned(body: object = {}, by = customer) {
  const payload = { content_type: 'image/png', size_bytes: picture.length, ...body };
  return by.send({ method: 'POST', url: '/api/v1/uploads/presigned', payload });
}

/** Sends bytes as the response says; fetch sets the Content-Length itself. */
function put({ url, headers }: { url: string; headers: Record<string, string> }, bytes = picture) {
  const { 'content-length': _, ...rest } = headers;
  return fetch(url, { method: 'PUT', headers: rest, body: new Uint8Array(bytes) });
}

function create(image_url: string) {
  return customer.create({ mode: 'image-to-video', prompt: 'it begins to move', image_url });
}

async function assertRefused(url: string, reason: string): Promise<void> {
  assertError(await create(url), 'invalid_request', { field: 'image_url', reason });
}

/** Ingests a task; nothing can be downloaded. */
const ingested = (taskId: string) =>
  ingestTask(api.deps, taskId, {
    download: () => Promise.reject(new Error('an upload was fetched')),
    close: async () => {},
  });

test('a file that was sent to the bucket by a link is measured at its first use', async () => {
  const { status, body } = await presigned();
  assert.equal(status, 201, JSON.stringify(body));
  const { upload, url } = body;
  assert.equal(upload.method, 'PUT');
  assert.deepEqual(upload.headers, {
    'content-type': 'image/png',
    'content-length': String(picture.length),
  });
  const minutes = (Date.parse(upload.expires_at) - Date.now()) / 60_000;
  assert.ok(minutes > 14 && minutes <= 15);
  await assertRefused(url, 'not_uploaded');
  assert.equal((await put(upload)).status, 200);
  // Of two creates at once, one makes the upload usable, and both use it.
  const created = await Promise.all([create(url), create(url)]);
  const statuses = created.map((response) => response.status);
  assert.deepEqual(statuses, [202, 202]);
  for (const response of created) {
    assert.equal((await ingested(response.body.id)).phase, 'submitting');
  }
});

test('a link takes no other size or type, and a task refuses a file that is no picture', async () => {
  const { upload } = (await presigned()).body;
  assert.equal((await put(upload, picture.subarray(1))).status, 403);
  const typed = { ...upload.headers, 'content-type': 'text/html' };
  assert.equal((await put({ ...upload, headers: typed })).status, 403);
  const bytes = Buffer.alloc(picture.length, '<p>');
  const wrong = (await presigned()).body;
  assert.equal((await put(wrong.upload, bytes)).status, 200);
  const task = await ingested((await create(wrong.url)).body.id);
  assert.deepEqual([task.phase, task.error_details?.reason], ['failed', 'not_an_image']);
});

test('a file that has another size than was declared is not used', async () => {
  const { id, url, upload } = (await presigned()).body;
  await put(upload);
  const [key = ''] = keysOf(id);
  const stored = bucket.objects.get(key);
  assert.ok(stored);
  bucket.objects.set(key, { ...stored, bytes: stored.bytes.subarray(1) });
  await assertRefused(url, 'size_mismatch');
});

test('a storage that does not respond delays the create, and nothing is reserved', async () => {
  const { url } = (await presigned()).body;
  bucket.s3.faults.plan({ kind: 'denied', method: 'HEAD' });
  assertError(await create(url), 'service_busy', { charged: 'no' });
  await assertRefused(url, 'not_uploaded');
});

test('a link counts in the quota at once, and what never arrives is removed', async () => {
  const { db, setClock } = api.database;
  const poor = await api.customer(0);
  const rest = { size_bytes: 1 + QUOTA_BYTES.unpaid / 2 };
  const { id } = (await presigned(rest, poor)).body;
  assertError(await presigned(rest, poor), 'invalid_request', { reason: 'quota_exceeded' });
  const problems: string[] = [];
  await auditStorage(api.deps, (problem) => problems.push(problem));
  assert.ok(!problems.some((problem) => problem.startsWith(id)), problems.join());
  await setClock(1.1 * DAY);
  await markExpired(db);
  await deleteMarked(api.deps);
  await setClock(0);
  const select = 'select state from stored_objects where id = $1';
  const [row] = await sql<{ state: string }>(db, select, [id]);
  assert.equal(row?.state, 'deleted');
  assert.equal((await presigned(rest, poor)).status, 201);
});

test('a file that arrives after an operator removed its upload is deleted too', async () => {
  const { db, setClock } = api.database;
  const { id, url, upload } = (await presigned()).body;
  await removeUpload(db, { command: 'uploads remove', actor: 'ada', reason: 'a test' }, id);
  await deleteMarked(api.deps);
  assert.equal((await put(upload)).status, 200);
  await assertRefused(url, 'unknown_upload');
  await setClock(31 * 60);
  await deleteMarked(api.deps);
  await setClock(0);
  assert.deepEqual(keysOf(id), []);
});

test('the body of a request for a link has a type that ingest takes, and a size', async () => {
  for (const [body, field] of [
    [{ content_type: 'image/svg+xml' }, 'content_type'],
    [{ content_type: 1 }, 'content_type'],
    [{ size_bytes: 0 }, 'size_bytes'],
    [{ size_bytes: 101 * 2 ** 20 }, 'size_bytes'],
    [{ more: true }, 'more'],
  ] as const) {
    assertError(await presigned(body), 'invalid_request', { field: field });
  }
});
