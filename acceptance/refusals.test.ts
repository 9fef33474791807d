import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertError } from './assertions.ts';
import { create, send } from './deployment.ts';

const PROMPT = { prompt: 'a lighthouse at dawn' };
const IMAGE = 'https://media.example/a.png';
const VIDEO = 'https://media.example/a.mp4';
const FRAMES = { ...PROMPT, mode: 'image-to-video' };
const REFERENCES = { ...PROMPT, mode: 'media-to-video' };

/** Bodies that break one rule of the contract each, and the field that the error names. */
const INVALID: Array<[object, string]> = [
  [{}, 'prompt'],
  [{ prompt: 'ab' }, 'prompt'],
  [{ prompt: '😀'.repeat(4001) }, 'prompt'],
  [{ prompt: 'ab\u0000c' }, 'prompt'],
  [{ ...PROMPT, mode: 'video-to-video' }, 'mode'],
  [{ ...PROMPT, model: 'video-3.0' }, 'model'],
  [{ ...PROMPT, aspect_ratio: '2:1' }, 'aspect_ratio'],
  [{ ...PROMPT, duration: 3 }, 'duration'],
  [{ ...PROMPT, duration: 16 }, 'duration'],
  [{ ...PROMPT, duration: 4.5 }, 'duration'],
  [{ ...PROMPT, duration: '5' }, 'duration'],
  [{ ...PROMPT, resolution: '4K' }, 'resolution'],
  [{ ...PROMPT, resolution: '1080p' }, 'resolution'], // the default model has no price for it
  [{ ...PROMPT, model: 'video-2.0-mini', resolution: '4k' }, 'resolution'],
  [{ ...PROMPT, generate_audio: 'true' }, 'generate_audio'],
  [{ ...PROMPT, seed: -2 }, 'seed'],
  [{ ...PROMPT, seed: 4294967296 }, 'seed'],
  [{ ...PROMPT, seed: null }, 'seed'],
  [{ ...PROMPT, callback_url: IMAGE }, 'callback_url'],
  [{ ...PROMPT, image_url: IMAGE }, 'image_url'],
  [{ ...PROMPT, reference_image_urls: [IMAGE] }, 'reference_image_urls'],
  [FRAMES, 'image_url'],
  [{ ...FRAMES, end_image_url: IMAGE }, 'image_url'],
  [{ ...FRAMES, image_url: IMAGE, reference_image_urls: [IMAGE] }, 'reference_image_urls'],
  [{ ...FRAMES, image_url: 'http://media.example/a.png' }, 'image_url'],
  [{ ...FRAMES, image_url: 'not a url' }, 'image_url'],
  [{ ...FRAMES, image_url: 'https://10.0.0.1/a.png' }, 'image_url'],
  [{ ...FRAMES, image_url: 'https://[::1]/a.png' }, 'image_url'],
  [{ ...FRAMES, image_url: `${IMAGE}?`.padEnd(2049, 'x') }, 'image_url'],
  [{ ...FRAMES, image_url: IMAGE, end_image_url: 5 }, 'end_image_url'],
  [REFERENCES, 'reference_image_urls'],
  [{ ...REFERENCES, reference_image_urls: Array(9).fill(IMAGE) }, 'reference_image_urls'],
  [{ ...REFERENCES, reference_image_urls: [IMAGE], image_url: IMAGE }, 'image_url'],
  [{ ...REFERENCES, reference_image_urls: IMAGE }, 'reference_image_urls'],
  [{ ...REFERENCES, reference_video_urls: [VIDEO] }, 'reference_video_durations'],
  [withVideos(4, [2, 2, 2]), 'reference_video_urls'],
  [withVideos(1, []), 'reference_video_durations'],
  [withVideos(1, [1]), 'reference_video_durations'],
  [withVideos(1, [16]), 'reference_video_durations'],
  [withVideos(1, [2.5]), 'reference_video_durations'],
  [withVideos(2, [5]), 'reference_video_durations'],
  [withVideos(2, [8, 8]), 'reference_video_durations'],
];

function withVideos(count: number, durations: number[]): object {
  const urls = Array(count).fill(VIDEO);
  return { ...REFERENCES, reference_video_urls: urls, reference_video_durations: durations };
}

for (const [body, field] of INVALID) {
  const text = JSON.stringify(body);
  test(`400 names ${field}: ${text.slice(0, 100)}`, async () => {
    assertError(await create(body), 'invalid_request', field);
  });
}

test('an invalid prompt length gives the message of the contract', async () => {
  const response = await create({ prompt: '' });
  assertError(response, 'invalid_request', 'prompt');
  assert.match(response.body.error.message, /prompt must contain between 3 and 4000 characters/);
});

test('a refused list entry is named by its index', async () => {
  const response = await create({
    ...REFERENCES,
    reference_image_urls: [IMAGE, 'http://x.example/'],
  });
  assertError(response, 'invalid_request', 'reference_image_urls');
  assert.equal(response.body.error.details.entry, 1);
});

test('the Idempotency-Key is required and has 1 to 160 allowed characters', async () => {
  for (const key of ['', 'x'.repeat(161), 'a b', 'a/b']) {
    const headers = { 'idempotency-key': key };
    assertError(await create(PROMPT, { headers }), 'invalid_request', 'Idempotency-Key');
  }
});

test('a body that is not a JSON object, or not sent as JSON, gets 400', async () => {
  for (const text of ['', '{"prompt":', '[]', 'null', `\ufeff${JSON.stringify(PROMPT)}`]) {
    assertError(await create(text), 'invalid_request');
  }
  const headers = { 'content-type': 'text/plain' };
  assertError(await create(PROMPT, { headers }), 'invalid_request', 'Content-Type');
});

test('a body of more than 64 KiB gets 413, even if it is invalid in other ways', async () => {
  const headers = { 'content-type': 'text/plain', 'idempotency-key': '' };
  assertError(await create('x'.repeat(65_537), { headers }), 'payload_too_large');
});

test('an invalid API key gets 401 before anything else is checked', async () => {
  for (const key of [null, 'junk', `fw_live_${'0'.repeat(38)}`]) {
    assertError(
      await create('x'.repeat(65_537), { key, headers: { 'content-type': 'a/b' } }),
      'unauthorized',
    );
    assertError(await send('/credits', { key }), 'unauthorized');
    assertError(await send(`/tasks/${'x'.repeat(121)}`, { key }), 'unauthorized');
  }
  assertError(
    await send('/credits', { key: null, headers: { authorization: 'Basic abc' } }),
    'unauthorized',
  );
});

test('an unknown task gets 404, and an id of more than 120 characters 400', async () => {
  assertError(await send(`/tasks/${'x'.repeat(120)}`), 'not_found');
  assertError(await send(`/tasks/${encodeURIComponent('😀'.repeat(120))}`), 'not_found');
  assertError(await send('/tasks/%00'), 'not_found');
  assertError(await send(`/tasks/${'x'.repeat(121)}`), 'invalid_request', 'id');
});

test('an unknown path gets the error envelope', async () => {
  for (const [path, method] of [
    ['/nowhere', 'GET'],
    ['/%zz', 'POST'],
  ] as const) {
    assertError(await send(path, { method, key: null }), 'not_found');
  }
});

test('media on a host that is not public is refused before a task is created', async () => {
  for (const host of ['localhost:1', '127.0.0.1', '0x7f.1', '169.254.169.254', '[fd00::1]']) {
    const response = await create({ ...FRAMES, image_url: `https://${host}/a.png` });
    assertError(response, 'invalid_request', 'image_url');
    assert.equal(response.body.error.details.task_id, undefined);
  }
});
