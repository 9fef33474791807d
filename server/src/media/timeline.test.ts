import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTimeline } from './timeline.ts';

function durationOf(...frames: [shownAt: number | null, durationSeconds: number][]): number {
  const timeline = createTimeline();
  for (const [shownAt, durationSeconds] of frames) timeline.add(shownAt, durationSeconds);
  return timeline.durationSeconds();
}

test('time counts from the first frame to the end of the last', () => {
  assert.equal(durationOf([5, 0.5], [5.5, 0.5], [6, 0.5]), 1.5);
});

test('the last frame lasts a second, or as long as the longest wait, at most', () => {
  assert.equal(durationOf([0, 36_000]), 1);
  assert.equal(durationOf([0, 1], [2.5, 36_000]), 5);
});

test('a last frame of unknown length lasts as long as the others did on average', () => {
  assert.equal(durationOf([0, 0], [0.25, 0], [0.5, 0]), 0.75);
});

test('frames without a time follow the one before them, and order does not matter', () => {
  assert.equal(durationOf([0, 0.5], [null, 0.5], [null, 0.5]), 1.5);
  assert.equal(durationOf([1, 0.5], [0, 0.5], [0.5, 0.5]), 1.5);
  assert.equal(durationOf(), 0);
});
