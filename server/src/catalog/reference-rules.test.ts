import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VideoFacts } from '../media/measurement.ts';
import { referenceProblem } from './reference-rules.ts';

function video(width: number, height: number, durationSeconds: number) {
  return { width, height, durationSeconds } as VideoFacts;
}

test('a reference video lasts 2 to 15 seconds, rounded, with a short side of 480 to 720 pixels', () => {
  const cases: [seen: VideoFacts, reason?: string][] = [
    [video(854, 480, 1.5)],
    [video(720, 1280, 15.4)],
    [video(854, 480, 1.4), 'duration_out_of_range'],
    [video(854, 480, 15.5), 'duration_out_of_range'],
    [video(854, 478, 5), 'short_side_out_of_range'],
    [video(722, 1280, 99), 'short_side_out_of_range'],
  ];
  for (const [seen, reason] of cases) assert.equal(referenceProblem(seen)?.reason, reason);
});
