import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { assertCommonHeaders, assertError, assertVideoTask } from './assertions.ts';
import { type ApiResponse, create, otherKey as key, needs, send } from './deployment.ts';

// What a deployment has beside the contract. The two videos of this file are made on the other
// account, whose balance no other file reads.

const skip = needs('FRAMEWRIGHT_OTHER_KEY');
const CHEAPEST = {
  model: 'video-2.0-mini',
  resolution: '480p',
  duration: 4,
  generate_audio: false,
};

let made: Promise<ApiResponse> | undefined;

/** The create of the one task of this file. */
function makeTask(): Promise<ApiResponse> {
  made ??= create({ ...CHEAPEST, prompt: 'a paper boat on a pond' }, { key });
  return made;
}

test('a list has a new task at once, and each task once, the newest first', { skip }, async () => {
  const { id } = (await makeTask()).body;
  const first = await send('/tasks?limit=1', { key });
  assertCommonHeaders(first);
  assert.equal(first.body.data[0].id, id);
  const ids: string[] = [];
  let last = '9999';
  for (let page = '/tasks?limit=2'; page !== ''; ) {
    const { status, headers, body } = await send(page, { key });
    assert.equal(status, 200, JSON.stringify(body));
    for (const task of body.data) {
      assertVideoTask({ status, headers, body: task });
      assert.ok(task.created_at <= last, 'the newest first');
      last = task.created_at;
      ids.push(task.id);
    }
    const { next_cursor: next } = body;
    page = next === null || ids.length > 20 ? '' : `/tasks?limit=2&cursor=${next}`;
  }
  assert.equal(new Set(ids).size, ids.length);
  const { model } = CHEAPEST;
  const filtered = await send(`/tasks?model=${model}&created_after=${last}&limit=100`, { key });
  assert.ok(filtered.body.data.every((task: { model: string }) => task.model === model));
  assert.ok(filtered.body.data.some((task: { id: string }) => task.id === id));
  const foreign = await send('/tasks?limit=100');
  assert.ok(!foreign.body.data.some((task: { id: string }) => task.id === id));
});

test('a list refuses parameters that it does not know or take', async () => {
  for (const [query, field] of [
    ['limit=101', 'limit'],
    ['status=held', 'status'],
    ['cursor=x', 'cursor'],
    ['created_after=yesterday', 'created_after'],
    ['state=failed', 'state'],
  ]) {
    assertError(await send(`/tasks?${query}`), 'invalid_request', field);
  }
});

test('a read that waits responds when the task has ended', { skip }, async () => {
  await completed((await makeTask()).body.id);
});

/** Reads a task until it has ended: it is completed. */
async function completed(id: string): Promise<void> {
  let read: ApiResponse;
  do {
    read = await send(`/tasks/${id}`, { key, headers: { prefer: 'wait=30' } });
    assertVideoTask(read);
    assert.equal(read.headers.get('preference-applied'), 'wait=30');
  } while (read.body.status === 'processing');
  assert.equal(read.body.status, 'completed', JSON.stringify(read.body));
}

test('the ledger of a task has its reserve, and its end', { skip }, async () => {
  const { id, credits_used } = (await makeTask()).body;
  const path = `/tasks/${id}/ledger`;
  const ledger = await send(path, { key });
  assertCommonHeaders(ledger);
  assert.deepEqual(
    [ledger.body.data[0].reason, ledger.body.data[0].credits],
    ['reserve', credits_used],
  );
  assert.match(ledger.body.data[0].created_at, /^\d{4}-\d\d-\d\dT/);
  assertError(await send(path), 'not_found');
});

test('the models and prices are read without a key, and confirmed by their ETag', async () => {
  const models = await send('/models', { key: null });
  assert.equal(models.status, 200);
  assert.deepEqual(
    models.body.data.map(({ id }: { id: string }) => id),
    ['video-2.0', 'video-2.0-fast', 'video-2.0-mini'],
  );
  const { standard, referenced } = models.body.data[1].credits_per_second;
  assert.deepEqual([standard['720p'], referenced['720p']], [50, 30]);
  const etag = models.headers.get('etag') ?? '';
  const again = await send('/models', { key: null, headers: { 'if-none-match': etag } });
  assert.equal(again.status, 304);
});

test('a quote is the price of a create, and reserves nothing', { skip }, async () => {
  const headers = { 'content-type': 'application/json' };
  const quote = (request: object) =>
    send('/video/quotes', { key, method: 'POST', headers, body: JSON.stringify(request) });
  const { credits_used } = (await makeTask()).body;
  const { status, body } = await quote({ ...CHEAPEST, prompt: 'a paper boat on a pond' });
  assert.equal(status, 200, JSON.stringify(body));
  const { available_credits, enough, ...price } = body;
  assert.deepEqual(price, {
    credits: credits_used,
    credits_per_second: 15,
    output_seconds: 4,
    reference_seconds: 0,
  });
  assert.equal(enough, available_credits >= credits_used);
  assert.equal((await send('/credits', { key })).body.available_credits, available_credits);
  assertError(await quote({ ...CHEAPEST, prompt: 'no' }), 'invalid_request', 'prompt');
});

test('a method that a path does not have gets 405, with those that it has', async () => {
  for (const [path, method, allowed] of [
    ['/credits', 'DELETE', 'GET, HEAD'],
    ['/video/generations', 'GET', 'POST'],
  ] as const) {
    const response = await send(path, { method, key: null });
    assertError(response, 'method_not_allowed');
    assert.equal(response.headers.get('allow'), allowed);
  }
});

test('a response says what is left of the rate window', async () => {
  for (const path of ['/credits', '/tasks/none', '/tasks?limit=0']) {
    const { headers } = await send(path);
    assert.equal(headers.get('ratelimit-policy'), '"default";q=30;w=60');
    const [, left, seconds] =
      /^"default";r=(\d+);t=(\d+)$/.exec(headers.get('ratelimit') ?? '') ?? [];
    assert.ok(Number(left) < 30 && Number(seconds) > 0 && Number(seconds) <= 60, path);
  }
});

test('an error of a create says what was charged, and with which key to try again', async () => {
  const { details } = (await create({ prompt: 'no' })).body.error;
  assert.deepEqual([details.charged, details.retry], ['no', 'never']);
  const unknown = (await create({ prompt: 'a kite' }, { key: null })).body.error.details;
  assert.deepEqual([unknown.charged, unknown.retry], ['no', 'same_key']);
});

test('an error of a create lists each URL that is refused as it is written', async () => {
  const reference_image_urls = ['http://example.com/a.png', 'https://10.0.0.1/a.png'];
  const request = { prompt: 'a kite', mode: 'media-to-video', reference_image_urls };
  const { body } = await create(request);
  const { field, entry, reason, inputs } = body.error.details;
  assert.deepEqual([field, entry, reason], ['reference_image_urls', 0, 'not_https']);
  assert.partialDeepStrictEqual(inputs, [
    { field, index: 0, reason: 'not_https' },
    { field, index: 1, reason: 'not_public' },
  ]);
  assert.equal(inputs.length, 2);
});

const picture = new Uint8Array(await readFile(new URL('media/picture.png', import.meta.url)));
const asPicture = { 'content-type': 'image/png' };

/** A create with this picture as its first frame. */
function createFrom(image_url: string, options: { key?: string | undefined } = { key }) {
  const request = { ...CHEAPEST, mode: 'image-to-video', prompt: 'the picture moves', image_url };
  return create(request, options);
}

test('a file that was uploaded becomes a video', { skip }, async () => {
  const upload = await send('/uploads', { key, body: picture, headers: asPicture });
  assertCommonHeaders(upload);
  assert.equal(upload.status, 201, JSON.stringify(upload.body));
  assert.ok(Date.parse(upload.body.expires_at) > Date.now());
  const created = await createFrom(upload.body.url);
  assert.equal(created.status, 202, JSON.stringify(created.body));
  await completed(created.body.id);
  const foreign = await createFrom(upload.body.url, {});
  assertError(foreign, 'invalid_request', 'image_url');
  assert.equal(foreign.body.error.details.reason, 'unknown_upload');
});

test('a body that is no image or video is no upload', async () => {
  const text = await send('/uploads', { body: 'text', headers: { 'content-type': 'text/plain' } });
  assertError(text, 'invalid_request', 'file');
  const broken = await send('/uploads', { body: picture.subarray(0, 60), headers: asPicture });
  assertError(broken, 'invalid_request', 'file');
  assertError(
    await send('/uploads', { key: null, body: picture, headers: asPicture }),
    'unauthorized',
  );
});

test('a file is sent to the bucket by a link, if there is a bucket', { skip }, async () => {
  const body = JSON.stringify({ content_type: 'image/png', size_bytes: picture.length });
  const json = { 'content-type': 'application/json' };
  const link = await send('/uploads/presigned', { key, body, headers: json });
  if (link.status === 400) {
    assert.equal(link.body.error.details.reason, 'no_bucket');
    return;
  }
  assert.equal(link.status, 201, JSON.stringify(link.body));
  const early = await createFrom(link.body.url);
  assert.equal(early.body.error.details.reason, 'not_uploaded');
  const { url } = link.body.upload;
  assert.equal(
    (await fetch(url, { method: 'PUT', body: picture, headers: asPicture })).status,
    200,
  );
  assert.equal((await createFrom(link.body.url)).status, 202);
});
