import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { filesOf, GUIDES } from '../../../console/docs/contents.ts';
import { newWebhookSecret, signatureHeaders } from '../../src/webhooks/signature.ts';
import { longTest } from '../long.ts';
import { ROOT } from '../repository/sources.ts';
import { openReaders, type Sample, samplesOfPage } from './reader.ts';

const SAMPLES = ['README.md', ...filesOf(GUIDES)].flatMap(samplesOfPage);

/** Samples of a page, by the info of their fences and where needed a part of their text. */
type Rule = [page: RegExp, info: RegExp, has?: RegExp];

const GUIDE = /^docs\/customers\//;

/** The tests that run samples. */
const RUN_BY: Record<string, Rule[]> = {
  'server/test/docs/guide-samples.test.ts': [[GUIDE, / tab=(curl|TypeScript|Python|fw|MCP)$/]],
  'server/test/docs/every-sample.test.ts': [
    [GUIDE, / tab=all$/],
    [/^README\.md$/, /^sh$/, /curl/],
    [/typescript\/README\.md$/, /^ts$/, /^import \{ FramewrightError \}|webhooks\.verify/],
  ],
  'server/test/service/acceptance.test.ts': [
    [/^docs\/customers\/(api|uploads|test-keys|webhooks)\.md$/, /^sh$/],
    [/webhooks\.md$/, /^js$/],
  ],
  'server/src/webhooks/signature.test.ts': [[/webhooks\.md$/, / tab=(Node|Python)$/]],
  'clients/ai-sdk/test/ai-sdk.test.ts': [[/ai-sdk\/README\.md$/, /^ts$/]],
  'server/test/docs/installs.test.ts': [
    [/test-keys\.md$/, /^yaml$/],
    [/(typescript|python|ai-sdk|cli|mcp)\/README\.md$/, /^(sh|python)$/],
    [/typescript\/README\.md$/, /^ts$/, /^import \{ Framewright \}/],
  ],
};

const NOT_RUN: Rule[] = [
  [/customers\/webhooks\.md$/, / tab=(Go|Java|Ruby|PHP)$/], // need toolchains of their own
  [/typescript\/README\.md$/, /^ts$/, /from 'undici'/], // needs a proxy, and undici from a registry
  [/./, /^(json|text)?$/], // responses, settings of other programs, variables
  [/^README\.md$/, /^sh$/], // starts this repository: demo.test.ts and framewright.test.ts do
];

test('a test runs each sample of each page, or the list says why none does', () => {
  const rules = [...Object.values(RUN_BY).flat(), ...NOT_RUN];
  const fits = ([page, info, has = /^/]: Rule, sample: Sample) =>
    page.test(sample.file) && info.test(sample.info) && has.test(sample.text);
  const unknown = SAMPLES.filter((sample) => !rules.some((rule) => fits(rule, sample)));
  assert.deepEqual(unknown, [], 'add them to this file');
  const unused = rules.filter((rule) => !SAMPLES.some((sample) => fits(rule, sample)));
  assert.deepEqual(unused, [], 'no sample fits these rules');
  for (const by of Object.keys(RUN_BY)) assert.ok(existsSync(path.join(ROOT, by)), by);
});

const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');

test('each member of the JSON on pages is one that openapi.json or ERRORS.md has', () => {
  const known = read('openapi.json') + read('docs/customers/ERRORS.md').replaceAll('`', '"');
  const unknown = new Set<string>();
  for (const { file, info, text } of SAMPLES) {
    if (info !== 'json' || text.includes('mcpServers')) continue;
    JSON.parse(text, (name, value) => {
      if (/^[a-z]/.test(name) && !known.includes(`"${name}"`)) unknown.add(`${file}: ${name}`);
      return value;
    });
  }
  assert.deepEqual([...unknown], []);
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
