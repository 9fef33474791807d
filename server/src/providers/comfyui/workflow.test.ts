import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { UsageError } from '../../kernel/errors.ts';
import { PLACEHOLDERS } from './values.ts';
import { fillWorkflow, parseWorkflow } from './workflow.ts';

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

test('a placeholder that is the whole string becomes a number if its value is one', () => {
  assert.deepEqual(
    fillInputs({ seed: '{{seed}}', width: '{{ width }}' }, { seed: 4294967295, width: 864 }),
    filled({ seed: 4294967295, width: 864 }),
  );
});

test('placeholders inside other text are filled in as text, everywhere in the graph', () => {
  assert.deepEqual(
    fillInputs({ deep: [{ name: 'w{{width}}/{{job_id}}' }] }, { width: 864, job_id: 'j' }),
    filled({ deep: [{ name: 'w864/j' }] }),
  );
});

test('other text and values stay as they are', () => {
  const inputs = { link: ['4', 0], steps: 20, on: true, nothing: null, text: '{a|b} {c}' };
  assert.deepEqual(fillInputs(inputs, {}), filled(inputs));
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
  const { takesFiles, asksFor } = parseWorkflow('test.json', template(inputs));
  assert.deepEqual([...takesFiles], ['first_frame', 'reference_image_8']);
  assert.ok(asksFor.has('reference_image_8_url'));
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
    assert.throws(
      () => parseWorkflow('video.json', text),
      (error) => {
        assert.ok(error instanceof UsageError);
        assert.match(error.message, /^video\.json: [^\n]+$/);
        assert.match(error.message, expected);
        return true;
      },
    );
  });
}

test('the docs page has every placeholder', async () => {
  const page = new URL('../../../../docs/operators/providers/comfyui.md', import.meta.url);
  const text = await readFile(page, 'utf8');
  for (const placeholder of PLACEHOLDERS)
    assert.ok(text.includes(`{{${placeholder}}}`), placeholder);
});
