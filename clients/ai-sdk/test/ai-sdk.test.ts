import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { APICallError } from '@ai-sdk/provider';
import { experimental_generateVideo as generateVideo } from 'ai';
import { type ClientCase, openClientCase } from '../../../server/test/clients/fault-cases.ts';
import { proveOrdersOf } from '../../../server/test/clients/orders.ts';
import {
  imageBytes,
  type MediaFixture,
  openMediaFixture,
} from '../../../server/test/media/media-fixture.ts';
import { temporaryFolder } from '../../../server/test/temporary-folder.ts';
import type { Plan } from '../../../simulators/kit/faults.ts';
import { createFramewright } from '../src/index.ts';

const PACKAGE = new URL('../', import.meta.url);

let fixture: MediaFixture;
before(async () => {
  fixture = await openMediaFixture();
});
after(() => fixture.close());

const openCase = (...faults: Plan[]) => openClientCase(fixture, { faults });
const modelOf = ({ apiKey, baseUrl }: ClientCase) =>
  createFramewright({ apiKey, baseUrl }).video('video-2.0-fast');
const poll = { intervalMs: 200 };

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
    poll,
  });
  assert.equal(video.mediaType, 'video/mp4');
  assert.match(Buffer.from(video.uint8Array.subarray(4, 8)).toString(), /ftyp/);
  assert.deepEqual(
    warnings.map((warning) => warning.type === 'unsupported' && warning.feature),
    ['fps'],
  );
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
    poll,
  });
  const { tries, charge } = await opened.report();
  assert.deepEqual([tries.upload, charge], [2, 6 * 25]);
});

test('a refused request is not sent again, and its error says what was charged', async () => {
  await using opened = await openCase();
  const refused = generateVideo({ model: modelOf(opened), prompt: 'A boat, test-refused', poll });
  await assert.rejects(refused, (error) => {
    assert.ok(APICallError.isInstance(error));
    const { code, charged, retry } = Object(error.data);
    assert.deepEqual([code, charged, retry], ['invalid_request', 'refunded', 'new_key']);
    return true;
  });
  const { tries, charge } = await opened.report();
  assert.deepEqual([tries.create, charge], [1, 0]);
});

test('a corrected request is the one that is sent, also with the same key', async () => {
  await using opened = await openCase();
  const model = modelOf(opened);
  const headers = { 'idempotency-key': 'order-4711' };
  const create = (prompt: string) => generateVideo({ model, prompt, headers, poll });
  await assert.rejects(create('ab'), /prompt/);
  await create('A paper boat');
  await assert.rejects(create('Another boat'), /Idempotency-Key/);
  assert.deepEqual((await opened.report()).tasks, 1);
});

test('a failed task is an error that says that it was refunded', async () => {
  await using opened = await openCase();
  const failed = generateVideo({ model: modelOf(opened), prompt: 'A boat, test-failed', poll });
  await assert.rejects(failed, /provider_failed: .* refunded/);
  assert.equal((await opened.report()).charge, 0);
});

test('an abort ends the call at once', async () => {
  await using opened = await openCase();
  const abortSignal = AbortSignal.timeout(500);
  const start = performance.now();
  const aborted = generateVideo({
    model: modelOf(opened),
    prompt: 'A boat, test-slow',
    abortSignal,
    poll,
  });
  await assert.rejects(aborted);
  assert.ok(performance.now() - start < 5000);
});

test('the first example of the README makes a video', async () => {
  const readme = await readFile(new URL('README.md', PACKAGE), 'utf8');
  const [, first = ''] = /^```ts\n(.*?)```/ms.exec(readme) ?? [];
  await using folder = await temporaryFolder();
  await using opened = await openCase();
  const { apiKey: FRAMEWRIGHT_API_KEY, directUrl: FRAMEWRIGHT_BASE_URL } = opened;
  // Names of packages are looked up from where the process begins.
  const text = `process.chdir(${JSON.stringify(folder.path)});\n${first}`;
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', text], {
    cwd: PACKAGE,
    env: { FRAMEWRIGHT_API_KEY, FRAMEWRIGHT_BASE_URL },
  });
  assert.deepEqual(await readdir(folder.path), ['lighthouse.mp4']);
  assert.equal((await opened.report()).tasks, 1);
});

test('with faults and kills, each order is one task, one charge and one whole file', {
  skip: process.env.FRAMEWRIGHT_GENERATIONS === undefined && 'FRAMEWRIGHT_GENERATIONS=20 runs it',
}, async (t) => {
  await proveOrdersOf(new URL('generate-many.ts', import.meta.url), { fixture, t });
});
