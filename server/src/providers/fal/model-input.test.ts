import assert from 'node:assert/strict';
import { test } from 'node:test';
import { input, submission } from '../../../test/submission.ts';
import { endpointOf, FAL_MODELS, modelInput } from './model-input.ts';

test('each model and mode has its own endpoint', () => {
  const at = (changes: Parameters<typeof submission>[0]) =>
    endpointOf(submission(changes), FAL_MODELS);
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

test('the duration is sent as a string, and no seed at all', () => {
  assert.deepEqual(modelInput(submission({ durationSeconds: 12, generateAudio: true })), {
    prompt: 'a lighthouse in the fog',
    aspect_ratio: '16:9',
    resolution: '480p',
    duration: '12',
    generate_audio: true,
  });
});

test('frames and references go to the fields of their endpoint, in order', () => {
  const frames = [input('last_frame', 'b'), input('first_frame', 'a')];
  const [last, first] = frames.map(({ url }) => url);
  const withFrames = modelInput(submission({ mode: 'image-to-video', inputs: frames }));
  assert.equal(withFrames.image_url, first);
  assert.equal(withFrames.end_image_url, last);
  const references = [
    input('reference_image', 'a'),
    input('reference_video', 'b'),
    input('reference_image', 'c'),
  ];
  const [imageA, video, imageC] = references.map(({ url }) => url);
  const withReferences = modelInput(submission({ mode: 'media-to-video', inputs: references }));
  assert.deepEqual(withReferences.image_urls, [imageA, imageC]);
  assert.deepEqual(withReferences.video_urls, [video]);
});

test('a field without a file is left out', () => {
  const frame = submission({ mode: 'image-to-video', inputs: [input('first_frame', 'a')] });
  assert.ok(!('end_image_url' in modelInput(frame)));
  const video = submission({ mode: 'media-to-video', inputs: [input('reference_video', 'a')] });
  assert.ok(!('image_urls' in modelInput(video)));
});
