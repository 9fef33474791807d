import assert from 'node:assert/strict';
import { test } from 'node:test';
import { input, submission } from '../../../test/submission.ts';
import { modelInput } from './model-input.ts';

test('every parameter of a text-to-video request is sent, the seed too', () => {
  assert.deepEqual(modelInput(submission({ durationSeconds: 12, generateAudio: true })), {
    prompt: 'a lighthouse in the fog',
    aspect_ratio: '16:9',
    resolution: '480p',
    duration: 12,
    generate_audio: true,
    seed: 4_294_967_295,
  });
});

test('frames and references go to their own fields, in order', () => {
  const frames = [input('last_frame', 'b'), input('first_frame', 'a')];
  const [last, first] = frames.map(({ url }) => url);
  const withFrames = modelInput(submission({ mode: 'image-to-video', inputs: frames }));
  assert.equal(withFrames.image, first);
  assert.equal(withFrames.last_frame_image, last);
  const references = [
    input('reference_image', 'a'),
    input('reference_video', 'b'),
    input('reference_image', 'c'),
  ];
  const [imageA, video, imageC] = references.map(({ url }) => url);
  const withReferences = modelInput(submission({ mode: 'media-to-video', inputs: references }));
  assert.deepEqual(withReferences.reference_images, [imageA, imageC]);
  assert.deepEqual(withReferences.reference_videos, [video]);
});

test('a field without a file is left out', () => {
  const frame = submission({ mode: 'image-to-video', inputs: [input('first_frame', 'a')] });
  assert.ok(!('last_frame_image' in modelInput(frame)));
  const video = submission({ mode: 'media-to-video', inputs: [input('reference_video', 'a')] });
  assert.ok(!('reference_images' in modelInput(video)));
});
