import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { newWebhookSecret, signatureHeaders } from '../../src/webhooks/signature.ts';
import { longTest } from '../long.ts';
import { fits, NOT_RUN, PAGES_WITH_SAMPLES, RUN, samplesOfPage } from './page-samples.ts';
import { openReaders } from './reader.ts';

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

const readers = await openReaders();
after(() => readers.close());

/** The sample of a page that a test of this file runs. */
function sampleOf(file: string, info: string, has: RegExp): string {
  const found = samplesOfPage(file).find((one) => one.info === info && has.test(one.text));
  return found?.text ?? assert.fail(`${file} has no such sample`);
}

longTest('the commands of the README make a video and read it', async () => {
  const reader = await readers.newReader();
  const commands = sampleOf('README.md', 'sh', /curl/)
    .replace(/^export FRAMEWRIGHT_API_KEY.*$/m, '')
    .replaceAll('http://127.0.0.1:8080', readers.fixture.url)
    .replaceAll('TASK_ID', await reader.newTask());
  const printed = await reader.run('curl', commands);
  assert.match(printed, /"id":"task_\w+","status":"processing".*"id":"task_.*"available_credits"/s);
});

longTest('the steps of the CI pass with a test key', async () => {
  const reader = await readers.newReader();
  const workflow = sampleOf('docs/customers/test-keys.md', 'yaml', /jobs:/);
  const steps = [...workflow.matchAll(/^( +)(?:- )?run: (?:\|\n((?:\1 .*\n)+)|(.*)\n)/gm)];
  const commands = steps.map(([, , block, line]) => block ?? line ?? '');
  const [install = '', ...own] = commands;
  assert.match(install, /^npm install --global \S+\/packages\/framewright-cli-\S+\.tgz$/);
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

test('the variables that the guides set are those of the tools', async () => {
  const reader = await readers.newReader();
  const { FRAMEWRIGHT_BASE_URL: url = '', FRAMEWRIGHT_API_KEY: key = '' } = reader.env;
  const sample = sampleOf('docs/customers/quickstart.md', 'sh tab=all', /export/)
    .replace('http://127.0.0.1:8080', new URL(url).origin)
    .replace('fw_test_...', key);
  delete reader.env.FRAMEWRIGHT_BASE_URL;
  delete reader.env.FRAMEWRIGHT_API_KEY;
  assert.equal(await reader.run('fw', `${sample}\nfw credits`), '100000\n');
});

test('the TypeScript client verifies a delivery as its page shows', async () => {
  const reader = await readers.newReader();
  const secret = newWebhookSecret();
  const data = { output: { video_url: 'https://video.example.com/media/x.mp4' } };
  const body = JSON.stringify({ type: 'task.completed', data });
  const timestamp = Math.floor(Date.now() / 1000);
  const headers = signatureHeaders({ eventId: 'evt_1', timestamp, body }, [secret]);
  const head = `import { Framewright } from '@framewright/client';
const client = new Framewright();
const init = ${JSON.stringify({ method: 'POST', headers, body })};
const request = new Request('https://example.com/hook', init);`;
  const sample = sampleOf('clients/typescript/README.md', 'ts', /webhooks\.verify/);
  const program = `${head}\n${sample.replace('whsec_...', secret)}`;
  assert.equal((await reader.run('TypeScript', program)).trim(), data.output.video_url);
});
