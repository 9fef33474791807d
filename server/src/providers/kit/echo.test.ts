import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEcho } from './echo.ts';

const SENT = {
  prompt: 'a lighthouse',
  duration: '5',
  urls: ['https://a.example/media/o_1?signature=x', 'https://a.example/media/o_2?signature=y'],
};

test('what was sent is recognised among fields that the provider filled in', () => {
  assert.ok(isEcho(SENT, { ...structuredClone(SENT), bitrate_mode: 'standard', seed: null }));
});

test('a link signed anew is the same link, one to another file is not', () => {
  const [, second] = SENT.urls;
  assert.ok(isEcho(SENT, { ...SENT, urls: ['https://a.example/media/o_1?signature=z', second] }));
  assert.ok(!isEcho(SENT, { ...SENT, urls: ['https://a.example/media/o_3?signature=x', second] }));
  assert.ok(!isEcho({ prompt: 'why? a' }, { prompt: 'why? b' }));
});

test('a field that is missing, of another type, or a list in another order is no echo', () => {
  const { prompt: _, ...withoutPrompt } = SENT;
  assert.ok(!isEcho(SENT, withoutPrompt));
  assert.ok(!isEcho(SENT, { ...SENT, duration: 5 }));
  assert.ok(!isEcho(SENT, { ...SENT, urls: SENT.urls.toReversed() }));
  assert.ok(!isEcho(SENT, { ...SENT, urls: SENT.urls.slice(1) }));
  for (const shown of [null, undefined, 'text', [SENT]]) assert.ok(!isEcho(SENT, shown));
});
