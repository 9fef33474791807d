import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { jobSpec } from '../../../test/providers/job-spec.ts';
import { isOneLineAbout } from '../../../test/providers/settings.ts';
import type { ProviderInput } from '../provider.ts';
import { promptIdOf } from './prompt-id.ts';
import { PLACEHOLDERS, plainValues } from './values.ts';
import { fillWorkflow, namedInputs, parseWorkflow, workflowFor } from './workflow.ts';

/** A template of one node with these inputs. */
function template(inputs: Record<string, unknown>): string {
  return JSON.stringify({ '1': { class_type: 'Any', inputs } });
}

function fillInputs(inputs: Record<string, unknown>, values: Record<string, string | number>) {
  const workflow = parseWorkflow('test.json', template({ prompt: '{{prompt}}', ...inputs }));
  const all = new Map(Object.entries({ prompt: 'a cat', ...values }));
  return fillWorkflow(workflow, all);
}

function filled(inputs: Record<string, unknown>): unknown {
  return { '1': { class_type: 'Any', inputs: { prompt: 'a cat', ...inputs } } };
}

test('a placeholder becomes its value, or text inside other text, everywhere in the graph; nothing else changes', () => {
  const same = { link: ['4', 0], steps: 20, on: true, nothing: null, text: '{a|b} {c}' };
  const inputs = {
    seed: '{{seed}}',
    width: '{{ width }}',
    deep: [{ name: 'w{{width}}/{{job_id}}' }],
  };
  assert.deepEqual(
    fillInputs({ ...same, ...inputs }, { seed: 4294967295, width: 864, job_id: 'j' }),
    filled({ ...same, seed: 4294967295, width: 864, deep: [{ name: 'w864/j' }] }),
  );
});

test('placeholders, quotes and dollar signs in a prompt are only text', () => {
  const prompt = 'say "{{seed}}", {{nonsense}} and $& \\ \u2028';
  assert.deepEqual(
    fillInputs({ both: 'now: {{prompt}}' }, { prompt, seed: 7 }),
    filled({ prompt, both: `now: ${prompt}` }),
  );
});

test('the placeholders of a template say which files it takes', () => {
  const inputs = { a: '{{prompt}}', b: '{{first_frame}}', c: '{{reference_image_8_url}}' };
  const { takesFiles, placeholders } = parseWorkflow('test.json', template(inputs));
  assert.deepEqual([...takesFiles], ['first_frame', 'reference_image_8']);
  assert.ok(placeholders.has('reference_image_8_url'));
});

const UI_FORMAT = JSON.stringify({ nodes: [{ id: 1, type: 'KSampler' }], links: [], version: 0.4 });

for (const [what, text, expected] of [
  [
    'an unknown placeholder',
    template({ a: '{{prompt}} {{steps}}' }),
    /\{\{steps\}\} is not a placeholder/,
  ],
  ['a misspelt file', template({ a: '{{prompt}} {{reference_image_9}}' }), /reference_image_9/],
  ['no prompt', template({ a: '{{seed}}' }), /no "\{\{prompt\}\}"/],
  ['no JSON', '{"1": \n', /not JSON/],
  ['the editor’s own format', UI_FORMAT, /Export \(API\)/],
] as const) {
  test(`a template with ${what} is refused with one line that names it`, () => {
    const named = isOneLineAbout(/^video\.json: ./, expected);
    assert.throws(() => parseWorkflow('video.json', text), named);
  });
}

test('the docs page has every placeholder', async () => {
  const page = new URL('../../../../docs/operators/providers/comfyui.md', import.meta.url);
  const text = await readFile(page, 'utf8');
  for (const placeholder of PLACEHOLDERS)
    assert.ok(text.includes(`{{${placeholder}}}`), placeholder);
});

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
  const name = nameFor('reference_image', 'reference_video', 'reference_image');
  assert.equal(name, 'reference_image_1,reference_image_2_url,reference_video_1');
  assert.equal(nameFor('reference_image'), undefined);
  assert.equal(nameFor('last_frame'), undefined);
});

test('the prompt id of an attempt never changes', () => {
  assert.equal(promptIdOf('att_00VZqJ2n1'), 'b86fcae5-015d-89c9-9f6f-06a54da24bef');
});
