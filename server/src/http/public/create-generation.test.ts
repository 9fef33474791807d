import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openTestApp } from '../../../test/app.ts';
import { assertError } from '../../../test/envelope.ts';
import { balances } from '../../ledger/ledger.ts';
import { readTask } from '../../tasks/task.ts';

const api = await openTestApp();
const customer = await api.customer(100_000);
after(() => api.close());

const BODY = { prompt: 'a lighthouse at dawn' };

test('only the prompt is required: the other fields get the defaults of the contract', async () => {
  const { body } = await customer.create(BODY);
  const { request } = await readTask(api.database.db, body.id);
  assert.deepEqual(request, {
    prompt: BODY.prompt,
    mode: 'text-to-video',
    model: 'video-2.0-fast',
    aspect_ratio: '16:9',
    duration: 5,
    resolution: '720p',
    reference_image_urls: [],
    reference_video_urls: [],
    generate_audio: true,
  });
});

test('the request is stored as it was sent', async () => {
  const sent = {
    mode: 'media-to-video',
    model: 'video-2.0',
    prompt: ' 😀 "two"\nlines ',
    aspect_ratio: 'adaptive',
    duration: 15,
    resolution: '4k',
    reference_image_urls: ['https://media.example/a.png', 'https://media.example/a.png'],
    reference_video_urls: ['https://media.example/a.mp4'],
    reference_video_durations: [15],
    generate_audio: false,
    seed: 4294967295,
  };
  const { status, body } = await customer.create(sent);
  assert.deepEqual([status, body.credits_used], [202, 30 * 200]);
  const task = await readTask(api.database.db, body.id);
  assert.deepEqual(task.request, sent);
  assert.equal(task.seed, 4294967295);
});

test('the credits are reserved at once, and a 402 says how many are required', async () => {
  const rich = await api.customer(499);
  assert.equal((await rich.create(BODY)).status, 202);
  assertError(await rich.create(BODY), 'insufficient_credits', { required_credits: 250 });
  const { paid } = await balances(api.database.db, rich.accountId);
  assert.deepEqual(paid, { available: 249, reserved: 250 });
  assert.equal((await rich.create({ ...BODY, duration: 4, resolution: '480p' })).status, 202);
});

test('the same key is 409 if the body has an explicit default or another value', async () => {
  const headers = { 'idempotency-key': crypto.randomUUID() };
  assert.equal((await customer.create(BODY, headers)).status, 202);
  for (const change of [
    { duration: 5 },
    { seed: -1 },
    { prompt: 'abc' },
    { reference_image_urls: [] },
  ]) {
    assertError(await customer.create({ ...BODY, ...change }, headers), 'idempotency_conflict');
  }
  assert.equal((await customer.create(BODY, headers)).status, 200);
});

test('a key has 1 to 160 characters and is case-sensitive', async () => {
  const every = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-';
  for (const key of ['a', '-', every, 'x'.repeat(160), 'CASE', 'case']) {
    assert.equal((await customer.create(BODY, { 'idempotency-key': key })).status, 202, key);
  }
  for (const key of ['x'.repeat(161), 'a b', 'a/b', 'a,b', 'caf\u00e9', 'a"b', '{}', '\ta\tb']) {
    const details = { field: 'Idempotency-Key', reason: 'malformed' };
    const response = await customer.create(BODY, { 'idempotency-key': key });
    assertError(response, 'invalid_request', details);
  }
});

test('two Idempotency-Key headers are 400', async () => {
  const headers = new Headers({ 'content-type': 'application/json' });
  headers.set('authorization', await customer.authorization());
  headers.append('idempotency-key', 'one');
  headers.append('idempotency-key', 'two');
  const url = `${api.url}/api/v1/video/generations`;
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(BODY) });
  assert.equal(response.status, 400);
});

test('each URL that is refused as it is written has its own entry, whichever fault is reported', async () => {
  const good = 'https://media.example/a.png';
  const reference_image_urls = [
    'http://media.example/a.png',
    good,
    'https://media.example/a b',
    'https://127.0.0.1/',
    `${good}?`.padEnd(2049, 'x'),
    7,
  ];
  const reference_video_urls = ['https://me:secret@media.example/a.mp4'];
  const written = { mode: 'media-to-video', reference_image_urls, reference_video_urls };
  const images = 'reference_image_urls';
  const entries = [
    { field: images, index: 0, reason: 'not_https' },
    { field: images, index: 2, reason: 'malformed' },
    { field: images, index: 3, reason: 'not_public' },
    { field: images, index: 4, reason: 'too_long', limit: 2048 },
    { field: images, index: 5, reason: 'wrong_type', type: 'string' },
    { field: 'reference_video_urls', index: 0, reason: 'credentials_in_url' },
  ];
  const inputsFor = async (body: object, details: Record<string, unknown>) => {
    const response = await customer.create({ ...BODY, ...written, ...body });
    assertError(response, 'invalid_request', details);
    const { inputs } = response.body.error.details;
    return inputs.map(({ message, ...entry }: { message: string }) => {
      assert.match(message, /\w/);
      return entry;
    });
  };
  const ofSchema = { field: images, entry: 2, reason: 'malformed' };
  assert.deepEqual(await inputsFor({}, ofSchema), entries);
  const shorter = { reference_image_urls: reference_image_urls.slice(0, 2) };
  const [first, , , , , last] = entries;
  const durations = { reference_video_durations: [2] };
  const ofUrl = { field: images, entry: 0, reason: 'not_https' };
  assert.deepEqual(await inputsFor({ ...shorter, ...durations }, ofUrl), [first, last]);
  const ofPrompt = { field: 'prompt', reason: 'too_short' };
  assert.deepEqual(await inputsFor({ ...shorter, prompt: '' }, ofPrompt), [first, last]);
  const many = { reference_image_urls: Array.from({ length: 1000 }, () => 'http://a.example') };
  const ofMany = { field: images, reason: 'too_many' };
  assert.equal((await inputsFor(many, ofMany)).length, 9, 'only as many as it takes are looked at');
  const noUrls = await customer.create({ ...BODY, duration: 3 });
  assert.equal(noUrls.body.error.details.inputs, undefined);
});
