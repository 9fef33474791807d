import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertError, assertVideoTask } from './assertions.ts';
import {
  type ApiResponse,
  availableCredits,
  create,
  mediaBase,
  needs,
  otherKey,
  send,
  untilEnded,
} from './deployment.ts';

// All tests that move credits are in this file. They run one after the other, so that each can read
// the balance before and after.

const CHEAPEST = { model: 'video-2.0-mini', resolution: '480p', duration: 4 };
const CHEAPEST_CREDITS = 4 * 15;

function keyed(key: string) {
  return { headers: { 'idempotency-key': key } };
}

test('a task of defaults costs 250 credits, reserved at once, and is delivered', async () => {
  const before = await availableCredits();
  const key = crypto.randomUUID();
  const text = '{"prompt":"a lighthouse at dawn, waves below"}';
  const created = await create(text, keyed(key));
  assert.equal(created.status, 202, JSON.stringify(created.body));
  assertVideoTask(created);
  const { id, model, mode, credits_used } = created.body;
  assert.deepEqual([model, mode, credits_used], ['video-2.0-fast', 'text-to-video', 250]);
  assert.equal(before - (await availableCredits()), 250);

  const other = await create('{"prompt":"something else"}', keyed(key));
  assertError(other, 'idempotency_conflict');
  assertError(await create('{"prompt":5}', keyed(key)), 'idempotency_conflict');
  const spelled = text.replace(':', ' : ').replace('a lighthouse', '\\u0061 lighthouse');
  const again = await create(spelled, keyed(key));
  assert.deepEqual([again.status, again.body.id], [200, id]);
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  assertVideoTask(again);

  const done = await untilEnded(id);
  assertVideoTask(done);
  assert.equal(done.body.status, 'completed', JSON.stringify(done.body));
  assert.deepEqual(
    { ...done.body, output: null, updated_at: null },
    { ...created.body, status: 'completed', updated_at: null },
  );
  assert.equal(before - (await availableCredits()), 250);
});

let video = '';

test('equal creates in flight reserve once and share one task: one gets 202, the others 200', async () => {
  const before = await availableCredits();
  const request = { ...CHEAPEST, prompt: 'a red kite over dunes', generate_audio: false, seed: 7 };
  const key = crypto.randomUUID();
  const creates = await Promise.all([1, 2, 3, 4].map(() => create(request, keyed(key))));
  assert.deepEqual(creates.map((create) => create.status).sort(), [200, 200, 200, 202]);
  assert.equal(new Set(creates.map((create) => create.body.id)).size, 1);
  assert.equal(before - (await availableCredits()), CHEAPEST_CREDITS);

  const done = await untilEnded(creates[0]?.body.id);
  assert.equal(done.body.status, 'completed', JSON.stringify(done.body));
  video = done.body.output.video_url;
  const late = await create(request, keyed(key));
  assert.deepEqual([late.status, late.body.status], [200, 'completed']);
});

async function download(link: string, headers: Record<string, string> = {}, method = 'GET') {
  const response = await fetch(link, { headers, method });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, bytes };
}

test('the MP4 is downloaded without a key, in full or in part, and HEAD returns its size', async () => {
  const whole = await download(video);
  assert.equal(whole.status, 200);
  assert.equal(whole.bytes.subarray(4, 8).toString(), 'ftyp');
  assert.equal(whole.headers.get('content-type'), 'video/mp4');
  const size = whole.bytes.length;
  assert.equal(whole.headers.get('content-length'), String(size));

  const head = await download(video, {}, 'HEAD');
  assert.deepEqual([head.status, head.bytes.length], [200, 0]);
  assert.equal(head.headers.get('content-length'), String(size));

  const part = await download(video, { range: 'bytes=4-7' });
  assert.deepEqual([part.status, part.bytes.toString()], [206, 'ftyp']);
  assert.equal(part.headers.get('content-range'), `bytes 4-7/${size}`);
  const end = await download(video, { range: 'bytes=-10' });
  assert.deepEqual([end.status, end.bytes], [206, whole.bytes.subarray(-10)]);
  const beyond = await download(video, { range: `bytes=${size}-` });
  assert.equal(beyond.status, 416);
  assert.equal(beyond.headers.get('content-range'), `bytes */${size}`);
});

test('an altered link gets 403', async () => {
  const last = video.at(-1);
  const altered = ['A', 'B', 'w', '0', '_'].filter((character) => character !== last);
  const forged = altered.map((character) => video.slice(0, -1) + character);
  const expiry = /expires=(\d+)/.exec(video)?.[1] ?? '';
  if (expiry !== '') forged.push(video.replace(expiry, String(Number(expiry) + 1)));
  for (const link of [...forged, video.replace(/\?.*/, '')]) {
    const { status, headers, bytes } = await download(link);
    assert.equal(status, 403, link);
    assert.match(headers.get('content-type') ?? '', /^application\/json/);
    assert.equal(typeof JSON.parse(bytes.toString()).error.code, 'string');
  }
});

test('another account can not read the task', {
  skip: needs('FRAMEWRIGHT_OTHER_KEY'),
}, async () => {
  const { body } = await create({ ...CHEAPEST, prompt: 'mine alone' });
  assertError(await send(`/tasks/${body.id}`, { key: otherKey }), 'not_found');
  assert.equal((await send(`/tasks/${body.id}`)).status, 200);
});

const skip = needs('FRAMEWRIGHT_MEDIA');
const picture = `${mediaBase}/picture.png`;
const clip = `${mediaBase}/clip-3s.mp4`;

test('image-to-video and media-to-video accept media of the host, and cost what the tables say', {
  skip,
}, async () => {
  const before = await availableCredits();
  const prompt = 'as in the pictures';
  const frames = { mode: 'image-to-video', image_url: picture, end_image_url: picture };
  const references = {
    mode: 'media-to-video',
    aspect_ratio: 'adaptive',
    reference_image_urls: [picture],
    reference_video_urls: [clip],
    reference_video_durations: [3],
  };
  const created: ApiResponse[] = [];
  for (const [request, credits] of [
    [frames, 4 * 15],
    [references, (4 + 3) * 10],
  ] as const) {
    const response = await create({ ...CHEAPEST, ...request, prompt });
    assert.equal(response.status, 202, JSON.stringify(response.body));
    assert.deepEqual([response.body.mode, response.body.credits_used], [request.mode, credits]);
    created.push(response);
  }
  for (const response of created) {
    const done = await untilEnded(response.body.id);
    assertVideoTask(done);
    assert.equal(done.body.status, 'completed', JSON.stringify(done.body));
  }
  assert.equal(before - (await availableCredits()), 60 + 70);
});

const FRAME = { ...CHEAPEST, prompt: 'unfit', mode: 'image-to-video' };
const REFERENCE = { ...CHEAPEST, prompt: 'unfit', mode: 'media-to-video' };

/** Requests whose media is refused after the reserve, with the field, entry and reason. */
const UNFIT: Array<[object, object]> = [
  [
    { ...FRAME, image_url: `${mediaBase}/missing.png` },
    { field: 'image_url', reason: 'not_reachable' },
  ],
  [
    { ...FRAME, image_url: picture, end_image_url: `${mediaBase}/text.txt` },
    { field: 'end_image_url', reason: 'not_an_image' },
  ],
  [
    { ...REFERENCE, reference_image_urls: [picture, clip] },
    { field: 'reference_image_urls', entry: 1, reason: 'not_an_image' },
  ],
  [
    { ...REFERENCE, reference_video_urls: [picture], reference_video_durations: [3] },
    { field: 'reference_video_urls', entry: 0, reason: 'not_a_video' },
  ],
  [
    { ...REFERENCE, reference_video_urls: [clip], reference_video_durations: [4] },
    {
      ...{ field: 'reference_video_urls', entry: 0, reason: 'duration_mismatch' },
      ...{ declared_seconds: 4, measured_seconds: 3 },
    },
  ],
];

test('unfit media gets 400 and a refund; its task reads as failed, also by its key', {
  skip,
}, async () => {
  const before = await availableCredits();
  for (const [request, details] of UNFIT) {
    const key = crypto.randomUUID();
    const refused = await create(request, keyed(key));
    assertError(refused, 'invalid_request');
    assert.partialDeepStrictEqual(refused.body.error.details, { ...details, credits: 'refunded' });
    const task = await send(`/tasks/${refused.body.error.details.task_id}`);
    assertVideoTask(task);
    assert.deepEqual([task.body.status, task.body.error.code], ['failed', 'invalid_media']);
    const again = await create(request, keyed(key));
    assert.deepEqual([again.status, again.body], [200, task.body]);
  }
  assert.equal(await availableCredits(), before);
});
