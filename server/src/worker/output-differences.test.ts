import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VideoFacts } from '../media/measurement.ts';
import { type Expectation, outputDifferences } from './archive.ts';

const ASKED: Expectation = {
  resolution: '480p',
  aspectRatio: '16:9',
  durationSeconds: 5,
  audio: true,
};

const EXACT: VideoFacts = {
  kind: 'video',
  mediaType: 'video/mp4',
  width: 864,
  height: 496,
  durationSeconds: 5,
  frames: 120,
  videoCodec: 'h264',
  audio: { codec: 'aac', durationSeconds: 5 },
};

test('each difference is listed once, with the requested and the actual value', () => {
  const facts = { ...EXACT, width: 640, durationSeconds: 4.5, audio: null };
  assert.deepEqual(outputDifferences(ASKED, facts), [
    'asked for 864x496, got 640x496 pixels',
    'asked for 5 s, got 4.5 s',
    'the audio track is missing',
  ]);
  assert.deepEqual(outputDifferences({ ...ASKED, audio: false }, EXACT), [
    'it has an audio track that was not requested',
  ]);
});

test('a duration may differ by half a frame, but not by a whole one', () => {
  const halfFrameSeconds = 1 / 48;
  for (const sign of [-1, 1]) {
    const near = { ...EXACT, durationSeconds: 5 + sign * halfFrameSeconds * 0.99 };
    assert.deepEqual(outputDifferences(ASKED, near), []);
    const far = { ...EXACT, durationSeconds: 5 + sign * halfFrameSeconds * 2 };
    assert.equal(outputDifferences(ASKED, far).length, 1);
  }
});
