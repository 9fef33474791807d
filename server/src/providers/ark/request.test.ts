import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newJobSpec } from '../../../test/providers/conformance/attempts.ts';
import type { ProviderInput } from '../provider.ts';
import { BYTEPLUS_MODELS, createBody, modelsFor, VOLCENGINE_MODELS } from './request.ts';

function input(role: ProviderInput['role'], name: string): ProviderInput {
  const mediaType = role === 'reference_video' ? 'video/mp4' : 'image/png';
  return { role, objectId: name, mediaType, url: `https://video.example.com/inputs/${name}` };
}

test('a text request has every parameter except those that the 2.0 series lacks', () => {
  const jobSpec = newJobSpec({ prompt: 'A heron', seed: 42, generate_audio: false });
  assert.deepEqual(createBody(jobSpec, BYTEPLUS_MODELS, 'a-mark'), {
    model: 'dreamina-seedance-2-0-fast-260128',
    content: [{ type: 'text', text: 'A heron' }],
    resolution: '480p',
    ratio: '1:1',
    duration: 4,
    generate_audio: false,
    watermark: false,
    callback_url: jobSpec.callbackUrl,
    safety_identifier: 'a-mark',
  });
});

test('without a mark there is no safety_identifier', () => {
  const body = createBody(newJobSpec(), BYTEPLUS_MODELS, null);
  assert.equal('safety_identifier' in body, false);
});

test('inputs are sent as links and keep their order and roles', () => {
  const inputs = [
    input('first_frame', 'a.png'),
    input('last_frame', 'b.png'),
    input('reference_image', 'c.png'),
    input('reference_video', 'd.mp4'),
  ];
  const { content } = createBody(newJobSpec({ inputs }), BYTEPLUS_MODELS, null);
  const url = (name: string) => ({ url: `https://video.example.com/inputs/${name}` });
  assert.deepEqual(content.slice(1), [
    { type: 'image_url', image_url: url('a.png'), role: 'first_frame' },
    { type: 'image_url', image_url: url('b.png'), role: 'last_frame' },
    { type: 'image_url', image_url: url('c.png'), role: 'reference_image' },
    { type: 'video_url', video_url: url('d.mp4'), role: 'reference_video' },
  ]);
});

test('the base URL decides the model ids', () => {
  const [volcengine, byteplus] = ['cn-beijing.volces.com', 'ap-southeast.bytepluses.com'].map(
    (host) => `https://ark.${host}/api/v3`,
  );
  assert.deepEqual(modelsFor(volcengine ?? ''), VOLCENGINE_MODELS);
  assert.deepEqual(modelsFor(byteplus ?? ''), BYTEPLUS_MODELS);
});
