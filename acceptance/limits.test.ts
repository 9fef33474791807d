import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertError } from './assertions.ts';
import { create, needs, poorKey, send } from './deployment.ts';

// An account without credits gets 402 once a request has passed every other check. So these tests see
// what is still valid, and create no task.

const IMAGE = 'https://media.example/a.png';
const VIDEO = 'https://media.example/a.mp4';
const longUrl = `${IMAGE}?`.padEnd(2048, 'x');

const VALID: Record<string, object> = {
  'only a prompt, of three characters outside the BMP': { prompt: '😀😀😀' },
  'the largest of everything': {
    prompt: '😀'.repeat(4000),
    mode: 'media-to-video',
    model: 'video-2.0',
    aspect_ratio: 'adaptive',
    duration: 15,
    resolution: '4k',
    reference_image_urls: Array(8).fill(longUrl),
    reference_video_urls: Array(3).fill(longUrl),
    reference_video_durations: [2, 2, 11],
    generate_audio: false,
    seed: 4294967295,
  },
  'the smallest of everything': {
    prompt: 'abc',
    mode: 'text-to-video',
    model: 'video-2.0-mini',
    aspect_ratio: '9:16',
    duration: 4,
    resolution: '480p',
    reference_image_urls: [],
    reference_video_urls: [],
    generate_audio: true,
    seed: -1,
  },
  'both frames': {
    prompt: 'abc',
    mode: 'image-to-video',
    image_url: longUrl,
    end_image_url: IMAGE,
  },
  'an opening frame alone': { prompt: 'abc', mode: 'image-to-video', image_url: IMAGE },
  'reference images alone': {
    prompt: 'abc',
    mode: 'media-to-video',
    reference_image_urls: [IMAGE],
  },
  'one reference video of 15 seconds': {
    prompt: 'abc',
    mode: 'media-to-video',
    reference_video_urls: [VIDEO],
    reference_video_durations: [15],
  },
  '1080p with the model that has it': { prompt: 'abc', model: 'video-2.0', resolution: '1080p' },
  'a ratio of 1:1': { prompt: 'abc', aspect_ratio: '1:1', seed: 0 },
  'a ratio of 21:9': { prompt: 'abc', aspect_ratio: '21:9', model: 'video-2.0-mini' },
  'a ratio of 4:3': { prompt: 'abc', aspect_ratio: '4:3', resolution: '480p' },
  'a ratio of 3:4': { prompt: 'abc', aspect_ratio: '3:4', duration: 5.0 },
};

const skip = needs('FRAMEWRIGHT_POOR_KEY');

for (const [name, body] of Object.entries(VALID)) {
  test(`valid, except for the credits: ${name}`, { skip }, async () => {
    assertError(await create(body, { key: poorKey }), 'insufficient_credits');
  });
}

test('a body of exactly 64 KiB is accepted', { skip }, async () => {
  const text = JSON.stringify({ prompt: 'abc' }).padEnd(65_536);
  assertError(await create(text, { key: poorKey }), 'insufficient_credits');
});

test('an Idempotency-Key of 160 characters is accepted, and 402 does not bind it', {
  skip,
}, async () => {
  const headers = { 'idempotency-key': `${crypto.randomUUID()}._:-`.padEnd(160, 'Z') };
  const content = { 'content-type': 'application/json; charset=utf-8', ...headers };
  for (const prompt of ['first', 'second']) {
    const response = await create({ prompt }, { key: poorKey, headers: content });
    assertError(response, 'insufficient_credits');
  }
});

test('an invalid field is reported before missing credits', { skip }, async () => {
  const response = await create({ prompt: 'abc', duration: 3 }, { key: poorKey });
  assertError(response, 'invalid_request', 'duration');
});

test('an account without credits has a balance of 0', { skip }, async () => {
  const { status, body } = await send('/credits', { key: poorKey });
  assert.deepEqual([status, body], [200, { available_credits: 0, balance_type: 'paid' }]);
});
