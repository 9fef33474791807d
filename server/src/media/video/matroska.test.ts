import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ByteSource } from '../byte-source.ts';
import { matroskaIsWhole, matroskaMediaType } from './matroska.ts';
import { createTimeline } from './timeline.ts';

const HEADER = '1a45dfa387' + '428284' + '7765626d';
const LIVE_SEGMENT = '1853806701ffffffffffffff';
const LIVE_CLUSTER = '1f43b67501ffffffffffffff';
const BLOCK = 'a384' + '01020304';

function source(...parts: string[]): ByteSource {
  const bytes = Buffer.from(parts.join(''), 'hex');
  return { sizeBytes: bytes.length, read: (at, length) => bytes.subarray(at, at + length) };
}

test('a live recording without sizes is complete when its last block is complete', () => {
  assert.ok(matroskaIsWhole(source(HEADER, LIVE_SEGMENT, LIVE_CLUSTER, BLOCK, BLOCK)));
  const cut = BLOCK.slice(0, -2);
  assert.ok(!matroskaIsWhole(source(HEADER, LIVE_SEGMENT, LIVE_CLUSTER, BLOCK, cut)));
});

test('a segment with a size is complete when it fits into the file, also with bytes after it', () => {
  assert.ok(matroskaIsWhole(source(HEADER, '1853806786', BLOCK, '00ff00')));
  assert.ok(!matroskaIsWhole(source(HEADER, '1853806787', BLOCK)));
});

test('the document type distinguishes WebM from Matroska', () => {
  assert.equal(matroskaMediaType(source(HEADER)), 'video/webm');
  const matroska = source(HEADER.replace('7765626d', '6d6b7661'));
  assert.equal(matroskaMediaType(matroska), 'video/x-matroska');
});

function durationOf(...frames: [shownAt: number | null, durationSeconds: number][]): number {
  const timeline = createTimeline();
  for (const [shownAt, durationSeconds] of frames) timeline.add(shownAt, durationSeconds);
  return timeline.durationSeconds();
}

test('the duration is from the first frame to the end of the last one', () => {
  assert.equal(durationOf([5, 0.5], [5.5, 0.5], [6, 0.5]), 1.5);
});

test('the last frame counts for its stated duration, up to a minute', () => {
  assert.equal(durationOf([0, 10]), 10);
  assert.equal(durationOf([0, 0.5], [0.5, 2]), 2.5);
  assert.equal(durationOf([0, 36_000]), 60);
  assert.equal(durationOf([0, 1], [2.5, 36_000]), 62.5);
});

test('a last frame of unknown duration counts for the average of the others', () => {
  assert.equal(durationOf([0, 0], [0.25, 0], [0.5, 0]), 0.75);
});

test('a frame without a time follows the one before it, and the order does not matter', () => {
  assert.equal(durationOf([0, 0.5], [null, 0.5], [null, 0.5]), 1.5);
  assert.equal(durationOf([1, 0.5], [0, 0.5], [0.5, 0.5]), 1.5);
  assert.equal(durationOf(), 0);
});
