import assert from 'node:assert/strict';
import { test } from 'node:test';
import { input, jobSpec } from '../../../test/providers/job-spec.ts';
import { BYTEPLUS_MODELS, createBody, modelsFor, VOLCENGINE_MODELS } from './request.ts';

test('a request has every parameter except those that the 2.0 series lacks; its inputs keep order and roles', () => {
  const roles = ['first_frame', 'last_frame', 'reference_image', 'reference_video'] as const;
  const inputs = roles.map((role) => input(role, role));
  const spec = jobSpec({ prompt: 'A heron', inputs });
  const links = inputs.map(({ role, url }) => {
    const type = role === 'reference_video' ? 'video_url' : 'image_url';
    return { type, [type]: { url }, role };
  });
  const body = {
    model: 'dreamina-seedance-2-0-fast-260128',
    content: [{ type: 'text', text: 'A heron' }, ...links],
    resolution: '480p',
    ratio: '16:9',
    duration: 5,
    generate_audio: false,
    watermark: false,
    callback_url: spec.callbackUrl,
  };
  assert.deepEqual(createBody(spec, BYTEPLUS_MODELS, null), body);
  const marked = { ...body, safety_identifier: 'a-mark' };
  assert.deepEqual(createBody(spec, BYTEPLUS_MODELS, 'a-mark'), marked);
});

test('the base URL decides the model ids', () => {
  const modelsAt = (host: string) => modelsFor(`https://ark.${host}/api/v3`);
  assert.deepEqual(modelsAt('cn-beijing.volces.com'), VOLCENGINE_MODELS);
  assert.deepEqual(modelsAt('ap-southeast.bytepluses.com'), BYTEPLUS_MODELS);
});
