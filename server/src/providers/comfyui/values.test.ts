import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jobSpec } from '../../../test/providers/job-spec.ts';
import type { ProviderInput } from '../provider.ts';
import { promptIdOf } from './prompt-id.ts';
import { PLACEHOLDERS, plainValues } from './values.ts';
import { namedInputs, parseWorkflow, workflowFor } from './workflow.ts';

const JOB_SPEC = jobSpec({ prompt: 'a cat', aspect_ratio: '9:16' });
const ANY_LENGTH = { framesPerSecond: 24, frameStep: 1 };

function input(role: ProviderInput['role']): ProviderInput {
  return { role, objectId: `obj_${role}`, mediaType: 'image/png', url: 'https://x.example/1' };
}

function taking(...files: string[]) {
  const inputs = { text: '{{prompt}}', files: files.map((file) => `{{${file}}}`) };
  return parseWorkflow(files.join(), JSON.stringify({ '1': { class_type: 'Any', inputs } }));
}

test('every placeholder that is not a file has a value', () => {
  assert.deepEqual(plainValues(JOB_SPEC, ANY_LENGTH), {
    prompt: 'a cat',
    seed: 4294967295,
    width: 496,
    height: 864,
    frames: 120,
    frames_per_second: 24,
    duration_seconds: 5,
    aspect_ratio: '9:16',
    resolution: '480p',
    generate_audio: false,
    model: 'video-2.0-fast',
    mode: 'text-to-video',
    job_id: promptIdOf('att_1'),
  });
  assert.deepEqual(Object.keys(plainValues(JOB_SPEC, ANY_LENGTH)), [...PLACEHOLDERS]);
});

test('frames are counted as the model counts them, never fewer than requested', () => {
  const frames = (framesPerSecond: number, frameStep: number) =>
    plainValues(JOB_SPEC, { framesPerSecond, frameStep }).frames;
  assert.equal(frames(16, 4), 81);
  assert.equal(frames(24, 8), 121);
  assert.equal(frames(23.976, 1), 120);
});

test('a request uses the workflow that takes exactly its files', () => {
  const workflows = [
    taking(),
    taking('first_frame'),
    taking('first_frame', 'last_frame'),
    taking('reference_image_1', 'reference_image_2_url', 'reference_video_1'),
  ];
  const nameFor = (...roles: ProviderInput['role'][]) =>
    workflowFor(workflows, namedInputs(roles.map(input)))?.name;
  assert.equal(nameFor(), '');
  assert.equal(nameFor('first_frame'), 'first_frame');
  assert.equal(nameFor('last_frame', 'first_frame'), 'first_frame,last_frame');
  assert.equal(
    nameFor('reference_image', 'reference_video', 'reference_image'),
    'reference_image_1,reference_image_2_url,reference_video_1',
  );
  assert.equal(nameFor('reference_image'), undefined);
  assert.equal(nameFor('last_frame'), undefined);
});
