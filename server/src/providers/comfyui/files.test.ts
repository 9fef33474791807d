import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { after, beforeEach, test } from 'node:test';
import {
  agedFindInput,
  countsFor,
  jobSpecOf,
  startRig,
  usualOptions,
  workflowWith,
} from '../../../test/providers/comfyui-rig.ts';
import { UsageError } from '../../kernel/errors.ts';
import { OutputGone, type Provider, type ProviderInput } from '../provider.ts';
import { type ComfyuiOptions, createComfyuiProvider } from './comfyui.ts';
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
  const files = { sizeOf: async () => sizeBytes, open: async () => file() };
  return rig.providerWith({ workflows: [uploaded], files });
}

let objects = 0;

function firstFrame(): ProviderInput {
  objects += 1;
  return { role: 'first_frame', objectId: `obj_${objects}`, mediaType: 'image/png', url: LINK };
}

const always = () => true;

async function finished(by: Provider): Promise<Record<string, string>> {
  const outcome = await by.submit(jobSpecOf(), always);
  assert.ok(outcome.kind === 'accepted');
  const status = await by.read(outcome.jobId);
  assert.ok(status.kind === 'succeeded');
  return status.output;
}

async function bytesOf(file: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(file));
}

test('when a job is posted, the files that it names are complete on the server', async () => {
  const input = firstFrame();
  const outcome = await provider.submit(jobSpecOf([input]), always);
  assert.equal(outcome.kind, 'accepted');
  const query = `filename=${input.objectId}.png&subfolder=framewright&type=temp`;
  const stored = await fetch(`${rig.simulator.url}/view?${query}`);
  assert.deepEqual(Buffer.from(await stored.arrayBuffer()), IMAGE);
  const job = (await rig.simulator.jobs()).at(-1);
  assert.match(JSON.stringify(job), new RegExp(`"framewright/${input.objectId}.png \\[temp\\]"`));
});

test('a file that was uploaded before the submit is not uploaded again', async () => {
  const input = firstFrame();
  await provider.prepare?.([input]);
  const jobSpec = jobSpecOf([input]);
  const { uploads } = await countsFor(rig, jobSpec);
  assert.equal((await provider.submit(jobSpec, always)).kind, 'accepted');
  assert.equal((await countsFor(rig, jobSpec)).uploads, uploads);
  const query = `filename=${input.objectId}.png&subfolder=framewright&type=temp`;
  assert.equal((await fetch(`${rig.simulator.url}/view?${query}`)).status, 200);
});

test('a file that is on the server is not uploaded again by the next attempt', async () => {
  const input = firstFrame();
  let calls = 0;
  const onlyAtFirst = () => calls++ === 0;
  assert.equal((await provider.submit(jobSpecOf([input]), onlyAtFirst)).kind, 'not_sent');
  const jobSpec = jobSpecOf([input]);
  const { uploads } = await countsFor(rig, jobSpec);
  assert.equal((await provider.submit(jobSpec, always)).kind, 'accepted');
  assert.equal((await countsFor(rig, jobSpec)).uploads, uploads);
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
  const files = { sizeOf: async () => IMAGE.length + 1, open: async () => Readable.from([IMAGE]) };
  const uploaded = await workflowWith('LoadImage', { image: '{{first_frame}}' });
  const cut = await rig.providerWith({ workflows: [uploaded], files, timeoutSeconds: 0.5 });
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

test('the result is fetched from the server, even after a restart', async () => {
  const output = await finished(rig.provider);
  await rig.restart();
  const video = await bytesOf(await rig.provider.openOutput(output));
  assert.equal(video.toString('latin1', 4, 8), 'ftyp');
});

test('a result that the operator deleted is gone', async () => {
  await rig.simulator.plan({ faults: [{ kind: 'output_expired' }] });
  const output = await finished(rig.provider);
  await assert.rejects(rig.provider.openOutput(output), OutputGone);
  await assert.rejects(rig.provider.openOutput({}), OutputGone);
});

test('a result that can’t be fetched at the moment is not gone', async () => {
  const output = await finished(rig.provider);
  for (const status of [401, 500, 503]) {
    await rig.simulator.plan({ on: 'output', faults: [{ kind: 'refuse', status }] });
    await assert.rejects(rig.provider.openOutput(output), { name: 'OutboundError' });
  }
});

test('a result that exceeds the byte limit is cut off', async () => {
  const output = await finished(rig.provider);
  const narrow = await rig.providerWith({ maxOutputBytes: 100 });
  await assert.rejects(async () => bytesOf(await narrow.openOutput(output)), {
    name: 'OutboundError',
    reason: 'too_large',
  });
});

/** A server that the test scripts, and the Authorization headers that it got. */
async function withServer(
  respond: (request: IncomingMessage, response: ServerResponse) => void,
  work: (options: ComfyuiOptions, authorizations: Array<string | undefined>) => Promise<void>,
): Promise<void> {
  const authorizations: Array<string | undefined> = [];
  const server = createServer((request, response) => {
    authorizations.push(request.headers.authorization);
    request.resume().once('end', () => respond(request, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  try {
    await work(await usualOptions(`http://127.0.0.1:${port}/comfy/`), authorizations);
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}

test('every call, including downloads, goes to the base URL with its authorization', async () => {
  await withServer(
    (request, response) => {
      if (!request.url?.startsWith('/comfy/')) response.statusCode = 500;
      else if (request.url.startsWith('/comfy/api/jobs')) response.statusCode = 404;
      response.end(JSON.stringify({ error: 'Job not found', prompt_id: 'as-the-server-says' }));
    },
    async (options, authorizations) => {
      const guarded = createComfyuiProvider({ ...options, authorization: 'Bearer secret' });
      const jobId = 'as-the-server-says';
      assert.deepEqual(await guarded.submit(jobSpecOf(), always), { kind: 'accepted', jobId });
      await bytesOf(await guarded.openOutput({ filename: 'a.mp4' }));
      assert.deepEqual(
        authorizations,
        Array.from({ length: 3 }, () => 'Bearer secret'),
      );
      await guarded.stop?.();
    },
  );
});

test('absence is weak if the server sends no Date header', async () => {
  const jobs = [{ create_time: 0 }];
  await withServer(
    (request, response) => {
      response.sendDate = false;
      const isList = request.url?.includes('?') === true;
      response.statusCode = isList ? 200 : 404;
      response.end(JSON.stringify(isList ? { jobs } : { error: 'Job not found' }));
    },
    async (options) => {
      const found = await createComfyuiProvider(options).find(agedFindInput(jobSpecOf()));
      assert.deepEqual(found, { kind: 'absent', proof: 'weak' });
    },
  );
});

test('a malformed address or a missing workflow stops the start', async () => {
  const options = await usualOptions('http://127.0.0.1:8188');
  for (const wrong of [
    { baseUrl: '127.0.0.1:8188' },
    { baseUrl: 'ftp://127.0.0.1' },
    { baseUrl: 'http://127.0.0.1:8188/?a=b' },
    { workflows: [] },
    { workflows: [{ name: 'empty.json', text: '{}' }] },
  ]) {
    assert.throws(() => createComfyuiProvider({ ...options, ...wrong }), UsageError);
  }
});
