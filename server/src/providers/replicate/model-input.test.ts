import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertFileFields, assertNoEmptyFields } from '../../../test/providers/file-fields.ts';
import { jobSpec } from '../../../test/providers/job-spec.ts';
import { replicateInput } from './model-input.ts';

test('every parameter of a text-to-video request is sent, including the seed', () => {
  assert.deepEqual(replicateInput(jobSpec({ duration: 12, generate_audio: true })), {
    prompt: 'a lighthouse in the fog',
    aspect_ratio: '16:9',
    resolution: '480p',
    duration: 12,
    generate_audio: true,
    seed: 4_294_967_295,
  });
});

const NAMES = {
  firstFrame: 'image',
  lastFrame: 'last_frame_image',
  referenceImages: 'reference_images',
  referenceVideos: 'reference_videos',
};

test('frames and references go to their own fields, in order', () => {
  assertFileFields(replicateInput, NAMES);
});

test('a field without a file is left out', () => {
  assertNoEmptyFields(replicateInput, NAMES);
});
