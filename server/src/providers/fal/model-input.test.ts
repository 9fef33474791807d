import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertFileFields, assertNoEmptyFields } from '../../../test/providers/file-fields.ts';
import { jobSpec } from '../../../test/providers/job-spec.ts';
import { endpointOf, FAL_MODELS, falInput } from './model-input.ts';

test('each model and mode has its own endpoint', () => {
  const at = (changes: Parameters<typeof jobSpec>[0]) => endpointOf(jobSpec(changes), FAL_MODELS);
  assert.equal(at({ model: 'video-2.0' }), 'bytedance/seedance-2.0/text-to-video');
  assert.equal(
    at({ model: 'video-2.0-fast', mode: 'image-to-video' }),
    'bytedance/seedance-2.0/fast/image-to-video',
  );
  assert.equal(
    at({ model: 'video-2.0-mini', mode: 'media-to-video' }),
    'bytedance/seedance-2.0/mini/reference-to-video',
  );
});

test('the duration is sent as a string, and the seed is not sent', () => {
  assert.deepEqual(falInput(jobSpec({ duration: 12, generate_audio: true })), {
    prompt: 'a lighthouse in the fog',
    aspect_ratio: '16:9',
    resolution: '480p',
    duration: '12',
    generate_audio: true,
  });
});

const NAMES = {
  firstFrame: 'image_url',
  lastFrame: 'end_image_url',
  referenceImages: 'image_urls',
  referenceVideos: 'video_urls',
};

test('frames and references go to the fields of their endpoint, in order', () => {
  assertFileFields(falInput, NAMES);
});

test('a field without a file is left out', () => {
  assertNoEmptyFields(falInput, NAMES);
});
