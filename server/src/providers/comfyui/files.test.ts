import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { after, beforeEach, test } from 'node:test';
import { startCannedHost } from '../../../test/providers/canned-host.ts';
import {
  comfyuiAt,
  countsFor,
  jobSpecOf,
  startRig,
  workflowWith,
} from '../../../test/providers/comfyui-rig.ts';
import { UsageError } from '../../kernel/errors.ts';
import type { ProviderInput } from '../provider.ts';
import { promptIdOf } from './prompt-id.ts';
import { UPLOAD_BYTES } from './uploads.ts';

const IMAGE = Buffer.from('these bytes are a picture');
const LINK = 'https://video.example.com/media/obj_1?signature=s';

const rig = await startRig();
const provider = await providerReading(IMAGE.length, async function* () {
  yield IMAGE.subarray(0, 5);
  yield IMAGE.subarray(5);
});
after(() => rig?.stop());
beforeEach(() => rig.simulator.clearPlans());

async function providerReading(sizeBytes: number, file: () => AsyncIterable<Uint8Array>) {
  const uploaded = await workflowWith('LoadImage', { image: '{{first_frame}}' });
  const storage = { sizeOf: async () => sizeBytes, open: async () => file() };
  return rig.providerWith({ workflows: [uploaded], storage });
}

let objects = 0;

function firstFrame(): ProviderInput {
  objects += 1;
  return { role: 'first_frame', objectId: `obj_${objects}`, mediaType: 'image/png', url: LINK };
}

function viewUrl({ objectId }: ProviderInput): string {
  const query = `filename=${objectId}.png&subfolder=framewright&type=temp`;
  return `${rig.simulator.url}/view?${query}`;
}

const always = () => true;

async function bytesOf(file: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(file));
}

test('when a job is posted, the files that it names are complete on the server', async () => {
  const input = firstFrame();
  const outcome = await provider.submit(jobSpecOf([input]), always);
  assert.equal(outcome.kind, 'accepted');
  const stored = await fetch(viewUrl(input));
  assert.deepEqual(Buffer.from(await stored.arrayBuffer()), IMAGE);
  const job = (await rig.simulator.jobs()).at(-1);
  assert.match(JSON.stringify(job), new RegExp(`"framewright/${input.objectId}.png \\[temp\\]"`));
});

test('a file that is on the server already is not uploaded again', async () => {
  let calls = 0;
  const onlyAtFirst = () => calls++ === 0;
  const earlier = {
    prepared: (input: ProviderInput) => provider.prepare?.([input]),
    submitted: (input: ProviderInput) => provider.submit(jobSpecOf([input]), onlyAtFirst),
  };
  for (const [title, put] of Object.entries(earlier)) {
    const input = firstFrame();
    await put(input);
    const jobSpec = jobSpecOf([input]);
    const { uploads } = await countsFor(rig, jobSpec);
    assert.equal((await provider.submit(jobSpec, always)).kind, 'accepted', title);
    assert.equal((await countsFor(rig, jobSpec)).uploads, uploads, title);
    assert.equal((await fetch(viewUrl(input))).status, 200, title);
  }
});

test('if an upload fails, nothing is posted', async () => {
  for (const [status, kind] of [
    [500, 'not_sent'],
    [413, 'rejected'],
    [403, 'rejected'],
  ] as const) {
    const jobSpec = jobSpecOf([firstFrame()]);
    const { posts } = await countsFor(rig, jobSpec);
    await rig.simulator.plan({ on: 'upload', faults: [{ kind: 'refuse', status }] });
    const outcome = await provider.submit(jobSpec, always);
    assert.equal(outcome.kind, kind);
    assert.ok(outcome.kind !== 'rejected' || outcome.fault === 'operator');
    assert.equal((await countsFor(rig, jobSpec)).posts, posts);
  }
});

test('a file that is too large to upload is not read', async () => {
  let reads = 0;
  const large = await providerReading(UPLOAD_BYTES + 1, async function* () {
    reads += 1;
    yield IMAGE;
  });
  const outcome = await large.submit(jobSpecOf([firstFrame()]), always);
  assert.ok(outcome.kind === 'rejected' && outcome.fault === 'operator');
  assert.equal(reads, 0);
});

test('a file that ends before its size is not uploaded, and nothing is posted', async () => {
  const storage = {
    sizeOf: async () => IMAGE.length + 1,
    open: async () => Readable.from([IMAGE]),
  };
  const uploaded = await workflowWith('LoadImage', { image: '{{first_frame}}' });
  const cut = await rig.providerWith({ workflows: [uploaded], storage, submitTimeoutSeconds: 0.5 });
  const jobSpec = jobSpecOf([firstFrame()]);
  const { posts } = await countsFor(rig, jobSpec);
  assert.equal((await cut.submit(jobSpec, always)).kind, 'not_sent');
  assert.equal((await countsFor(rig, jobSpec)).posts, posts);
});

test('a template that takes a link gets the link, and nothing is uploaded', async () => {
  const linked = await workflowWith('LoadImageFromUrl', { url: '{{first_frame_url}}' });
  const byLink = await rig.providerWith({ workflows: [linked] });
  const jobSpec = jobSpecOf([firstFrame()]);
  const { uploads } = await countsFor(rig, jobSpec);
  assert.equal((await byLink.submit(jobSpec, always)).kind, 'accepted');
  assert.equal((await countsFor(rig, jobSpec)).uploads, uploads);
  assert.ok(JSON.stringify((await rig.simulator.jobs()).at(-1)).includes(JSON.stringify(LINK)));
});

test('every call, including downloads, goes to the base URL with its authorization', async () => {
  const host = await startCannedHost();
  const authorization = 'Bearer secret';
  const guarded = await comfyuiAt(`${host.url}/comfy`, { authorization });
  const jobSpec = jobSpecOf();
  const jobPath = `/comfy/api/jobs/${promptIdOf(jobSpec.attemptId)}`;
  host.respond(jobPath, { status: 404, json: { error: 'Job not found' } });
  host.respond('/comfy/prompt', { json: { prompt_id: 'as-the-server-says' } });
  host.respond('/comfy/view', { text: 'a video' });
  const accepted = { kind: 'accepted', jobId: 'as-the-server-says' };
  assert.deepEqual(await guarded.submit(jobSpec, always), accepted);
  await bytesOf(await guarded.openOutput({ filename: 'a.mp4' }));
  const authorizations = host.requests.map(({ headers }) => headers.authorization);
  assert.deepEqual(authorizations, Array(3).fill(authorization));
  await guarded.stop?.();
});

test('without its workflow file the service does not start', async () => {
  for (const workflows of [[], [{ name: 'empty.json', text: '{}' }]]) {
    await assert.rejects(comfyuiAt('http://127.0.0.1:8188', { workflows }), UsageError);
  }
});
