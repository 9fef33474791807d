import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { publint } from 'publint';
import { build as bundle } from 'vite';
import { FIRST_KEY, FIRST_REQUEST } from '../../../console/src/samples/first-request.ts';
import { typeScriptSample } from '../../../console/src/samples/typescript.ts';
import { openClientCase, serveClientCases } from '../../../server/test/clients/fault-cases.ts';
import { type MediaFixture, openMediaFixture } from '../../../server/test/media/media-fixture.ts';
import { temporaryFolder } from '../../../server/test/temporary-folder.ts';
import { TYPES_FILE, typesText } from '../write-declarations.ts';

const run = promisify(execFile);
const PACK = new URL('../../pack.ts', import.meta.url).pathname;
const CORE_CASES = new URL('core-cases.mjs', import.meta.url).href;
const LIMIT_BYTES = 5000;

/** What the cases must come to. */
const EXPECTED = {
  status: 'completed',
  isWhole: true,
  aborted: { name: 'AbortError', code: 'aborted', isAtOnce: true },
  webhooks: ['evt_1', 'WebhookError'],
};

const cleanup = new AsyncDisposableStack();
/** The package as it is published. */
let published: string;
let fixture: MediaFixture;

before(async () => {
  const folder = cleanup.use(await temporaryFolder());
  fixture = await openMediaFixture();
  cleanup.defer(() => fixture.close());
  await run(process.execPath, [PACK, folder.path]);
  published = path.join(folder.path, 'typescript');
});
after(() => cleanup.disposeAsync());

test('the types are those of openapi.json: npm run openapi', async () => {
  assert.equal(await readFile(TYPES_FILE, 'utf8'), typesText());
});

test('the client adds less than 5 KB to a bundle, minified and compressed', async (t) => {
  const entry = path.join(published, 'index.js');
  t.after(() => delete process.env.NODE_ENV); // Vite sets it
  const { output } = await bundle({
    logLevel: 'silent',
    configFile: false,
    build: {
      write: false,
      lib: { entry, formats: ['es'] },
      rolldownOptions: { external: /^node:/ },
    },
  }).then((built) => [built].flat().find((one) => 'output' in one) ?? assert.fail('no output'));
  const bytes = output.map((part) => ('code' in part ? gzipSync(part.code).length : 0));
  const total = bytes.reduce((sum, one) => sum + one);
  t.diagnostic(`@framewright/client: ${total} bytes`);
  assert.ok(total < LIMIT_BYTES, `${total} bytes`);
});

/** A program that runs the core cases on the published package, and prints what came of them. */
const programFor = (casesUrl: string) => `
  const { runCoreCases } = await import(${JSON.stringify(CORE_CASES)});
  const sdk = await import(${JSON.stringify(path.join(published, 'index.js'))});
  console.log(JSON.stringify(await runCoreCases(sdk, ${JSON.stringify(casesUrl)})));`;

/** Other programs that run it: `FRAMEWRIGHT_RUNTIMES="/usr/bin/node bun deno workerd"`. */
const runtimes = [process.execPath, ...(process.env.FRAMEWRIGHT_RUNTIMES?.split(' ') ?? [])];

test('the published package loses nothing and pays once on each runtime', async () => {
  const cases = cleanup.use(await serveClientCases(fixture));
  const file = path.join(published, 'run.mjs');
  await writeFile(file, programFor(cases.url));
  for (const runtime of runtimes) {
    const args = path.basename(runtime).startsWith('deno') ? ['run', '-A', file] : [file];
    const { report, ...rest } = JSON.parse((await run(runtime, args)).stdout);
    assert.deepEqual(rest, EXPECTED, runtime);
    const { tries, keys, tasks, charge } = report;
    assert.deepEqual([tries.create, keys.length, tasks, charge], [3, 1, 1, 250], runtime);
  }
});

test('the first example of the README, and those of the website, make a video', async () => {
  const readme = await readFile(path.join(published, 'README.md'), 'utf8');
  const [, first = ''] = /^```ts\n(.*?)```/ms.exec(readme) ?? [];
  await using opened = await openClientCase(fixture, {});
  const { apiKey: FRAMEWRIGHT_API_KEY, directUrl: FRAMEWRIGHT_BASE_URL } = opened;
  const env = { FRAMEWRIGHT_API_KEY, FRAMEWRIGHT_BASE_URL };
  const samples = [
    first,
    typeScriptSample(FRAMEWRIGHT_BASE_URL, FIRST_REQUEST, FIRST_KEY),
    typeScriptSample(FRAMEWRIGHT_BASE_URL, { prompt: "It's a boat", generate_audio: false }),
  ];
  await Promise.all(
    samples.map(async (text, at) => {
      await using folder = await temporaryFolder();
      const file = path.join(published, `sample-${at}.mjs`);
      await writeFile(file, text); // beside package.json: a package may import itself by its name
      await run(process.execPath, [file], { env, cwd: folder.path });
      const written = (await readdir(folder.path)).map((name) => path.extname(name));
      assert.deepEqual(written, ['.mp4'], text);
    }),
  );
  assert.equal((await opened.report()).tasks, samples.length);
});

test('publint finds nothing in the packages', async () => {
  for (const name of await readdir(path.dirname(published))) {
    const { messages } = await publint({ pkgDir: path.join(published, '..', name), strict: true });
    assert.deepEqual(messages, [], name);
  }
});
