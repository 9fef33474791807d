import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { publint } from 'publint';
import { build as bundle } from 'vite';
import {
  FIRST_IDEMPOTENCY_KEY,
  FIRST_REQUEST,
  typeScriptSample,
} from '../../../console/src/samples.ts';
import {
  type ClientCase,
  openClientCase,
  serveClientCases,
} from '../../../server/test/clients/fault-cases.ts';
import { longTest } from '../../../server/test/long.ts';
import { openMediaFixture } from '../../../server/test/media/media-fixture.ts';
import { temporaryFolder } from '../../../server/test/temporary-folder.ts';

const run = promisify(execFile);
const PACK = new URL('../../packing/pack.ts', import.meta.url).pathname;
const TSC = new URL('../../../node_modules/.bin/tsc', import.meta.url).pathname;
const STRICT = '--ignoreConfig --noEmit --strict --exactOptionalPropertyTypes';
const MODULES = '--target esnext --module nodenext --types';
const CORE_CASES = new URL('core-cases.mjs', import.meta.url).href;
const LIMIT_BYTES = 7300;

/** What the cases must come to. */
const EXPECTED = {
  status: 'completed',
  isWhole: true,
  aborted: { name: 'AbortError', code: 'aborted', isAtOnce: true },
  webhooks: ['evt_1', 'WebhookError'],
};

const cleanup = new AsyncDisposableStack();
/** The packages as customers install them. */
const packages: string[] = [];

const folder = cleanup.use(await temporaryFolder());
const fixture = await openMediaFixture();
cleanup.defer(() => fixture.close());
const cwd = folder.path;
await run(process.execPath, [PACK, cwd]);
for (const name of (await readdir(cwd)).filter((file) => file.endsWith('.tgz'))) {
  await run('tar', ['-xzf', name, '--one-top-level'], { cwd });
  packages.push(path.join(cwd, path.basename(name, '.tgz'), 'package'));
}
/** The client among them. */
const published = packages.find((one) => one.includes('-client-')) ?? assert.fail('no client');
after(() => cleanup.disposeAsync());

/** What a bundler makes of a program. */
async function bundled(entry: string) {
  const { NODE_ENV } = process.env;
  const lib = { entry, formats: ['es' as const] };
  const build = { write: false, lib, rolldownOptions: { external: /^node:/ } };
  const built = await bundle({ logLevel: 'silent', configFile: false, build });
  if (NODE_ENV === undefined) delete process.env.NODE_ENV; // Vite sets it
  return [built].flat().find((one) => 'output' in one)?.output ?? assert.fail('no output');
}

test('the client adds less than 7.3 KB to a bundle, minified and compressed', async (t) => {
  const entry = path.join(published, 'index.js');
  const output = await bundled(entry);
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

type Core = typeof EXPECTED & { report: Awaited<ReturnType<ClientCase['report']>> };

function checkCore({ report, ...rest }: Core, runtime: string): void {
  assert.deepEqual(rest, EXPECTED, runtime);
  const { tries, keys, tasks, charge } = report;
  assert.deepEqual([tries.create, keys.length, tasks, charge], [3, 1, 1, 250], runtime);
}

/** Other programs that run it: `FRAMEWRIGHT_RUNTIMES="/usr/bin/node bun deno"`. */
const runtimes = [process.execPath, ...(process.env.FRAMEWRIGHT_RUNTIMES?.split(' ') ?? [])];

test('the published package loses nothing and pays once on each runtime', async () => {
  const cases = cleanup.use(await serveClientCases(fixture));
  const file = path.join(published, 'run.mjs');
  await writeFile(file, programFor(cases.url));
  for (const runtime of runtimes) {
    const args = path.basename(runtime).startsWith('deno') ? ['run', '-A', file] : [file];
    checkCore(JSON.parse((await run(runtime, args)).stdout), runtime);
  }
});

const MINIFLARE = process.env.FRAMEWRIGHT_MINIFLARE;
const withoutMiniflare = MINIFLARE === undefined && 'FRAMEWRIGHT_MINIFLARE is not set';

test('the client loses nothing and pays once in a Worker', { skip: withoutMiniflare }, async () => {
  const cases = cleanup.use(await serveClientCases(fixture));
  const file = path.join(published, 'worker.mjs');
  await writeFile(
    file,
    `import { runCoreCases } from ${JSON.stringify(new URL(CORE_CASES).pathname)};
    import * as sdk from './index.js';
    const run = () => runCoreCases(sdk, '${cases.url}');
    export default { fetch: async () => Response.json(await run()) };`,
  );
  const [main] = await bundled(file);
  const { Miniflare } = await import(MINIFLARE ?? '');
  const contents = 'code' in main ? main.code : '';
  const modules = [{ type: 'ESModule', path: 'worker.mjs', contents }];
  const worker = new Miniflare({ modules, compatibilityDate: '2026-01-01' });
  cleanup.defer(() => worker.dispose());
  checkCore(await (await worker.dispatchFetch('http://worker.test/')).json(), 'workerd');
});

test('the examples of the website make a video', async () => {
  await using opened = await openClientCase(fixture);
  const { apiKey: FRAMEWRIGHT_API_KEY, directUrl: FRAMEWRIGHT_BASE_URL } = opened;
  const env = { FRAMEWRIGHT_API_KEY, FRAMEWRIGHT_BASE_URL };
  const samples = [
    typeScriptSample(FRAMEWRIGHT_BASE_URL, FIRST_REQUEST, FIRST_IDEMPOTENCY_KEY),
    typeScriptSample(FRAMEWRIGHT_BASE_URL, { prompt: `It's a "boat"\n\\`, duration: 4 }),
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

/** A customer's program. Each directive demands an error of the compiler. */
const TYPED = `
import type {
  Bounds, CancelResult, CreditBalance, CreditMovement, CreditsLowEvent, ErrorDetails, ErrorResponse,
  EventType, Mode, Model, ModelCatalog, PresignedUpload, PresignedUploadRequest, Quote, RefusedInput,
  TaskEvent, TaskLedger, TaskList, TestEvent, Upload, VideoRequest, VideoTask, WebhookAttempt,
  WebhookDelivery, WebhookDeliveryList, WebhookEndpoint, WebhookEndpointChanges, WebhookEndpointList,
  WebhookEndpointRequest, WebhookEndpointWithSecret, WebhookEvent, WebhookEventId,
} from '@framewright/client';
const mode: Mode = 'image-to-video';
const model: Model = 'video-2.0';
const request: VideoRequest = { prompt: 'A boat', mode, model, duration: 5, seed: undefined };
const changes: WebhookEndpointChanges = { events: ['task.held'] satisfies EventType[] };
const bounds = ({ media }: ModelCatalog): Bounds => media.reference_video_seconds;
const priceOf = ({ data: [model] }: ModelCatalog): number | undefined =>
  model?.credits_per_second.standard['720p'];
const inputsOf = ({ error }: ErrorResponse): RefusedInput[] => error.details?.inputs ?? [];
const linkOf = ({ output }: VideoTask): string | undefined => output?.video_url;
const sizeOf = ({ upload }: PresignedUpload): string => upload.headers['content-length'];
const shown = (event: WebhookEvent): number | string =>
  event.type === 'credits.low' ? event.data.below_credits
  : event.type === 'webhook.test' ? event.data.message : event.data.credits_used;
// @ts-expect-error: the prompt is required
const empty: VideoRequest = { mode };
// @ts-expect-error: no such resolution
const huge: VideoRequest = { prompt: 'A boat', resolution: '8k' };
// @ts-expect-error: null until the task is completed
const early = ({ output }: VideoTask): string => output.video_url;
// @ts-expect-error: no such event
const unknown: WebhookEndpointRequest = { events: ['task.begun'] };
`;

longTest('a strict program compiles with the types of the API', async () => {
  const file = path.join(published, 'typed.ts');
  await writeFile(file, TYPED);
  const args = [...`${STRICT} ${MODULES}`.split(' '), '', file];
  await run(TSC, args).catch(({ stdout }) => assert.fail(stdout));
});

longTest('publint finds nothing in the packages', async () => {
  for (const folder of packages) {
    const { messages } = await publint({ pkgDir: folder, strict: true });
    assert.deepEqual(messages, [], folder);
  }
});
