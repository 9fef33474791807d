import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEcho } from './echo.ts';

const SENT = {
  prompt: 'a lighthouse',
  duration: '5',
  urls: ['https://a.example/media/o_1?signature=x', 'https://a.example/media/o_2?signature=y'],
};

test('the fields that were sent are recognised among fields that the provider added', () => {
  assert.ok(isEcho(SENT, { ...structuredClone(SENT), bitrate_mode: 'standard', seed: null }));
});

test('a link with a new signature is the same link, a link to another file is not', () => {
  const [, second] = SENT.urls;
  assert.ok(isEcho(SENT, { ...SENT, urls: ['https://a.example/media/o_1?signature=z', second] }));
  assert.ok(!isEcho(SENT, { ...SENT, urls: ['https://a.example/media/o_3?signature=x', second] }));
  assert.ok(!isEcho({ prompt: 'why? a' }, { prompt: 'why? b' }));
});

test('links to one of our objects are the same, wherever they lead', () => {
  const own = { url: 'https://video.example/media/obj_1.png?expires=1&signature=x' };
  const presigned = { url: 'https://bucket.example/videos/obj_1?X-Amz-Signature=y' };
  const other = { url: 'https://bucket.example/videos/obj_2?X-Amz-Signature=y' };
  assert.ok(isEcho(own, presigned) && isEcho(presigned, own));
  assert.ok(!isEcho(own, other));
});

test('a missing field, another type or another order of a list is not an echo', () => {
  const { prompt: _, ...withoutPrompt } = SENT;
  assert.ok(!isEcho(SENT, withoutPrompt));
  assert.ok(!isEcho(SENT, { ...SENT, duration: 5 }));
  assert.ok(!isEcho(SENT, { ...SENT, urls: SENT.urls.toReversed() }));
  assert.ok(!isEcho(SENT, { ...SENT, urls: SENT.urls.slice(1) }));
  for (const shown of [null, undefined, 'text', [SENT]]) assert.ok(!isEcho(SENT, shown));
});
