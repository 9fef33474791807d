import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { APICallError, NoSuchModelError } from '@ai-sdk/provider';
import {
  createProviderRegistry,
  experimental_generateVideo as generateVideo,
  experimental_getVideoStatus as getVideoStatus,
  experimental_startVideo as startVideo,
} from 'ai';
import { testErrorCases } from '../../../server/test/clients/error-cases.ts';
import { type ClientCase, openClientCase } from '../../../server/test/clients/fault-cases.ts';
import { longTest } from '../../../server/test/long.ts';
import { imageBytes, openMediaFixture } from '../../../server/test/media/media-fixture.ts';
import { temporaryFolder } from '../../../server/test/temporary-folder.ts';
import type { Plan } from '../../../simulators/kit/faults.ts';
import { createFramewright } from '../src/index.ts';

const PACKAGE = new URL('../', import.meta.url);

const fixture = await openMediaFixture();
after(() => fixture.close());

const openCase = (...faults: Plan[]) => openClientCase(fixture, faults);
const modelOf = ({ apiKey, baseUrl }: ClientCase) =>
  createFramewright({ apiKey, baseUrl }).video('video-2.0-fast');

test('two lost responses to a start, and a lost read, are one task with one charge', async () => {
  await using opened = await openCase(
    { on: 'create', times: 2, faults: [{ kind: 'drop_after_accepting' }] },
    { on: 'read', faults: [{ kind: 'drop_after_accepting' }] },
  );
  const { video, providerMetadata, warnings } = await generateVideo({
    model: modelOf(opened),
    prompt: { image: await imageBytes('png'), text: 'A paper boat' },
    duration: 4,
    resolution: '1280x720',
    fps: 24,
    maxRetries: 2,
  });
  assert.equal(video.mediaType, 'video/mp4');
  assert.match(Buffer.from(video.uint8Array.subarray(4, 8)).toString(), /ftyp/);
  const unsupported = warnings.map((warning) => warning.type === 'unsupported' && warning.feature);
  assert.deepEqual(unsupported, ['fps']);
  const { tries, keys, tasks, charge } = await opened.report();
  assert.deepEqual([tries.upload, tries.create, keys.length], [1, 3, 1]);
  assert.deepEqual({ tasks, charge }, { tasks: 1, charge: 200 });
  assert.match(JSON.stringify(providerMetadata), /"taskId":"task_/);
});

test('all fields of a request are named by the options, or by providerOptions', async () => {
  await using opened = await openCase();
  const image = await imageBytes('png');
  await generateVideo({
    model: modelOf(opened),
    prompt: 'A paper boat',
    aspectRatio: '9:16',
    seed: 7,
    generateAudio: false,
    frameImages: [
      { image, frameType: 'first_frame' },
      { image, frameType: 'last_frame' },
    ],
    providerOptions: { framewright: { resolution: '480p', duration: 6 } },
  });
  const { tries, charge } = await opened.report();
  assert.deepEqual([tries.upload, charge], [2, 6 * 25]);
});

test('a corrected request is the one that is sent, also with the same key', async () => {
  await using opened = await openCase();
  const model = modelOf(opened);
  const headers = { 'idempotency-key': 'order-4711' };
  const create = (prompt: string) => generateVideo({ model, prompt, headers });
  await assert.rejects(create('ab'), /prompt/);
  await create('A paper boat');
  await assert.rejects(create('Another boat'), /Idempotency-Key/);
  assert.deepEqual((await opened.report()).tasks, 1);
});

/** The data of the error that a call ends with. */
async function dataOf(call: Promise<unknown>, isKind: (error: unknown) => boolean) {
  const error: unknown = await call.then(() => undefined, Object);
  assert.ok(isKind(error), String(error));
  return Object(error).data;
}

const isAbort = (error: unknown) => error instanceof Error && error.name === 'AbortError';

longTest('after an abort, the error has the paid task and its key', async () => {
  await using opened = await openCase();
  const start = performance.now();
  const abortSignal = AbortSignal.timeout(3000);
  const slow = { model: modelOf(opened), prompt: 'A boat, test-slow', abortSignal };
  const data = await dataOf(generateVideo(slow), isAbort);
  assert.ok(performance.now() - start < 15_000);
  const { keys, tasks } = await opened.report();
  const { taskId, idempotencyKey, charged, retry } = data;
  assert.match(taskId, /^task_/);
  assert.deepEqual([[idempotencyKey], charged, retry], [keys, 'reserved', 'same_key']);
  assert.equal(tasks, 1);
});

for (const [title, headers, warned, wanted] of [
  ['with one key are one video, and a warning says so', { 'Idempotency-Key': '1' }, /one video/, 1],
  ['without a key are several, without a warning', {}, /^\[\]$/, 2],
] as const) {
  test(`several videos ${title}`, async () => {
    await using opened = await openCase();
    const options = { model: modelOf(opened), prompt: 'A paper boat', n: 2, headers };
    const { videos, warnings } = await generateVideo(options);
    assert.equal(videos.length, 2);
    assert.match(JSON.stringify(warnings), warned);
    const { tasks, charge } = await opened.report();
    assert.deepEqual({ tasks, charge }, { tasks: wanted, charge: wanted * 250 });
  });
}

test('a registry of providers finds the models', async () => {
  await using opened = await openCase();
  const { apiKey, baseUrl } = opened;
  const registry = createProviderRegistry({ framewright: createFramewright({ apiKey, baseUrl }) });
  const model = registry.videoModel('framewright:video-2.0-mini');
  const { operation } = await startVideo({ model, prompt: 'A paper boat', duration: 4 });
  assert.equal((await opened.report()).charge, 4 * 30);
  assert.equal((await getVideoStatus(model, { operation })).status, 'pending');
  assert.throws(() => registry.languageModel('framewright:video-2.0-mini'), NoSuchModelError);
});

longTest('a status that is refused is an APICallError with the task and its key', async () => {
  await using opened = await openCase(
    { on: 'read', faults: [{ kind: 'refuse', status: 401, code: 'unauthorized' }] },
    { on: 'read', faults: [{ kind: 'refuse', status: 503, code: 'service_busy' }] },
  );
  const { apiKey, baseUrl } = opened;
  const model = createFramewright({ apiKey, baseUrl, maxRetries: 0 }).video('video-2.0-fast');
  const { operation } = await startVideo({ model, prompt: 'A boat, test-slow' });
  const refused = getVideoStatus(model, { operation });
  const { taskId, idempotencyKey, charged, retry } = await dataOf(
    refused,
    (error) => APICallError.isInstance(error) && error.statusCode === 401 && !error.isRetryable,
  );
  assert.deepEqual({ taskId, idempotencyKey }, operation);
  assert.deepEqual([charged, retry], ['reserved', 'same_key']);
  const { status } = await getVideoStatus(model, { operation }); // again by the AI SDK after a 503
  assert.equal(status, 'pending');
  assert.equal((await opened.report()).tries.read, 3);
});

testErrorCases({
  fixture: () => fixture,
  async open({ options, request: { prompt, ...fields }, idempotencyKey, totalTimeoutMs }) {
    const model = createFramewright(options).video('video-2.0-fast');
    const headers = idempotencyKey ? { 'idempotency-key': idempotencyKey } : {};
    const providerOptions = {
      framewright: { ...fields, ...(totalTimeoutMs && { pollTimeoutMs: totalTimeoutMs }) },
    };
    return async () => {
      try {
        await generateVideo({ model, prompt, headers, providerOptions });
        return undefined;
      } catch (error) {
        assert.ok(APICallError.isInstance(error), String(error));
        return { message: error.message, ...Object(error.data) };
      }
    };
  },
});

test('each example of the README makes a video, and a whole file', async () => {
  const readme = await readFile(new URL('README.md', PACKAGE), 'utf8');
  const examples = [...readme.matchAll(/^```ts\n(.*?)```/gms)];
  assert.equal(examples.length, 2);
  for (const [, example = ''] of examples) {
    await using folder = await temporaryFolder();
    await using opened = await openCase();
    const { apiKey: FRAMEWRIGHT_API_KEY, directUrl: FRAMEWRIGHT_BASE_URL } = opened;
    // Names of packages are looked up from where the process begins.
    const text = `process.chdir(${JSON.stringify(folder.path)});\n${example}`;
    await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', text], {
      cwd: PACKAGE,
      env: { FRAMEWRIGHT_API_KEY, FRAMEWRIGHT_BASE_URL },
    });
    assert.deepEqual(await readdir(folder.path), ['lighthouse.mp4']);
    assert.equal((await opened.report()).tasks, 1);
  }
});
