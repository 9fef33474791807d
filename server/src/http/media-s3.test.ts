import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openTestApp } from '../../test/app.ts';
import { assertError } from '../../test/envelope.ts';
import { simulatedBucket } from '../../test/storage/simulated-bucket.ts';
import { storedLink } from '../../test/storage/stored-link.ts';
import { takeDown } from '../operator/verbs/objects.ts';
import { openS3Storage } from '../storage/s3/s3.ts';

const BYTES = Buffer.from('0123456789');

const bucket = await simulatedBucket();
const storage = await openS3Storage(bucket);
const redirecting = await openTestApp({ storage, deliveryMode: 'redirect' });
const proxying = await openTestApp({ storage, deliveryMode: 'proxy' });
after(() => bucket.s3[Symbol.asyncDispose]());

test('redirect: a GET leads to the bucket, which sends type, name and ranges; HEAD does not', async () => {
  const { id, link } = await storedLink(redirecting, BYTES);
  const first = await fetch(link, { redirect: 'manual' });
  assert.equal(first.status, 302);
  assert.equal(first.headers.get('cache-control'), 'no-store');
  const target = new URL(first.headers.get('location') ?? '');
  assert.equal(target.origin, bucket.s3.url);
  assert.ok(Number(target.searchParams.get('X-Amz-Expires')) <= 300);
  const whole = await fetch(link);
  assert.equal(await whole.text(), '0123456789');
  assert.equal(whole.headers.get('content-type'), 'video/mp4');
  assert.equal(whole.headers.get('content-disposition'), `inline; filename="${id}.mp4"`);
  const part = await fetch(link, { headers: { range: 'bytes=2-4' } });
  assert.deepEqual([part.status, await part.text()], [206, '234']);
  const head = await fetch(link, { method: 'HEAD', redirect: 'manual' });
  assert.deepEqual([head.status, head.headers.get('content-length')], [200, '10']);
});

test('in both modes a file that vanished from the bucket is said to be missing', async () => {
  for (const api of [redirecting, proxying]) {
    const { id, link } = await storedLink(api, BYTES);
    bucket.objects.delete(`a prefix/b/${id}`);
    const response = await fetch(link, { redirect: 'manual' });
    const headers = Object.fromEntries(response.headers);
    assertError({ status: response.status, headers, body: await response.json() }, 'file_missing');
    assert.equal((await fetch(link, { method: 'HEAD', redirect: 'manual' })).status, 410);
  }
});

test('in both modes a silent store is asked once, and the client is told within seconds', async () => {
  const measured = [redirecting, proxying].map(async (api) => {
    const { link } = await storedLink(api, BYTES);
    bucket.s3.faults.plan({ kind: 'hang', method: api === redirecting ? 'HEAD' : 'GET' });
    const startedAt = performance.now();
    const response = await fetch(link, { redirect: 'manual' });
    assert.deepEqual([response.status, response.headers.get('retry-after')], [503, '5']);
    return performance.now() - startedAt;
  });
  for (const ms of await Promise.all(measured)) assert.ok(ms > 4000 && ms < 8000, `${ms} ms`);
  assert.deepEqual(bucket.s3.faults.pending(), []);
});

test('the service itself sends outputs by proxy, and inputs in both modes: providers may not follow', async () => {
  const { id, link } = await storedLink(proxying, BYTES);
  const whole = await fetch(link, { redirect: 'manual' });
  assert.deepEqual([whole.status, await whole.text()], [200, '0123456789']);
  assert.equal(whole.headers.get('content-disposition'), `inline; filename="${id}.mp4"`);
  const part = await fetch(link, { headers: { range: 'bytes=2-4' } });
  assert.deepEqual([part.status, await part.text()], [206, '234']);
  const input = await storedLink(redirecting, BYTES, 'input');
  const response = await fetch(input.link, { redirect: 'manual' });
  assert.deepEqual([response.status, await response.text()], [200, '0123456789']);
});

test('in both modes a file that was taken down is 410 at once, before its deletion', async () => {
  for (const api of [redirecting, proxying]) {
    const { id, link } = await storedLink(api, BYTES);
    const action = { command: 'objects takedown', actor: 'test', reason: 'test' };
    await takeDown(api.database.db, action, id);
    assert.equal(bucket.objects.has(`a prefix/b/${id}`), true);
    assert.equal((await fetch(link, { redirect: 'manual' })).status, 410);
  }
});

test('proxy: while the store fails, a download is 503 with Retry-After, not 500', async () => {
  const { link } = await storedLink(proxying, BYTES);
  bucket.s3.faults.plan({ kind: 'slow_down', method: 'GET', times: 3 });
  const response = await fetch(link);
  const headers = Object.fromEntries(response.headers);
  assertError({ status: response.status, headers, body: await response.json() }, 'service_busy');
  assert.equal(headers['retry-after'], '5');
  assert.equal((await fetch(link)).status, 200);
});
