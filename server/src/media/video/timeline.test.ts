import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTimeline } from './timeline.ts';

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
