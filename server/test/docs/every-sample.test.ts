import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fits, NOT_RUN, PAGES_WITH_SAMPLES, RUN, samplesOfPage } from './page-samples.ts';
import { openReaders, type Readers } from './reader.ts';

const ROOT = path.join(import.meta.dirname, '../../..');
const SAMPLES = PAGES_WITH_SAMPLES.flatMap(samplesOfPage);

test('a test runs each sample of each page, or the list says why none does', () => {
  const unknown = SAMPLES.filter(
    (sample) => ![...RUN, ...NOT_RUN].some((rule) => fits(rule, sample)),
  );
  assert.deepEqual(unknown, [], 'add them to page-samples.ts');
  for (const rule of [...RUN, ...NOT_RUN]) {
    assert.ok(
      SAMPLES.some((sample) => fits(rule, sample)),
      `no sample fits ${rule.file} ${rule.info} of page-samples.ts`,
    );
  }
  for (const { by } of RUN) assert.ok(existsSync(path.join(ROOT, by)), by);
});

test('what is shown as JSON is JSON', () => {
  const shown = SAMPLES.filter(({ info }) => info.startsWith('json'));
  assert.ok(shown.length > 10);
  for (const { file, text } of shown)
    assert.doesNotThrow(() => JSON.parse(text), `${file}\n${text}`);
});

let readers: Readers;
before(async () => {
  readers = await openReaders();
});
after(() => readers.close());

/** The sample of a page that a test of this file runs. */
function sampleOf(file: string, info: string, has: RegExp): string {
  const found = samplesOfPage(file).find((one) => one.info === info && has.test(one.text));
  return found?.text ?? assert.fail(`${file} has no such sample`);
}

test('the commands of the README make a video and read it', async () => {
  const reader = await readers.newReader();
  const commands = sampleOf('README.md', 'sh', /curl/)
    .replace(/^export FRAMEWRIGHT_API_KEY.*$/m, '')
    .replaceAll('http://127.0.0.1:8080', readers.fixture.url)
    .replaceAll('TASK_ID', await reader.newTask());
  const printed = await reader.run('curl', commands);
  assert.match(printed, /"id":"task_\w+","status":"processing".*"id":"task_.*"available_credits"/s);
});

test('the steps of the CI pass with a test key', async () => {
  const reader = await readers.newReader();
  const workflow = sampleOf('docs/test-keys.md', 'yaml', /jobs:/);
  const steps = [...workflow.matchAll(/^( +)(?:- )?run: (?:\|\n((?:\1 .*\n)+)|(.*)\n)/gm)];
  const commands = steps.map(([, , block, line]) => block ?? line ?? '');
  const [install = '', ...own] = commands;
  assert.match(install, /^npm install --global @framewright\/cli$/);
  assert.equal(own.length, 2);
  for (const command of own) await reader.run('fw', command);
});

test('the program of the TypeScript client says what a failure has cost', async () => {
  const reader = await readers.newReader();
  const program = sampleOf('clients/typescript/README.md', 'ts', /^import \{ FramewrightError \}/);
  const head = `import { Framewright } from '@framewright/client';
const client = new Framewright();
const request = { prompt: 'A boat, test-failed' };`;
  assert.match(
    await reader.run('TypeScript', `${head}\n${program}`),
    /provider_failed refunded new_key/,
  );
});
