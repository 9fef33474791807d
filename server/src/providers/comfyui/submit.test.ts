import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import type { Fault } from '../../../../simulators/kit/faults.ts';
import { startCannedHost } from '../../../test/providers/canned-host.ts';
import {
  countsFor,
  jobSpecOf,
  startRig,
  usualOptions,
  workflowWith,
} from '../../../test/providers/comfyui-rig.ts';
import { createComfyuiProvider } from './comfyui.ts';
import { promptIdOf } from './prompt-id.ts';

const rig = await startRig();
after(() => rig?.stop());
beforeEach(() => rig.simulator.clearPlans());

const always = () => true;

/** Submits with these faults of the post and returns the numbers of posts and jobs. */
async function submitWith(faults: Fault[]) {
  const jobSpec = jobSpecOf();
  await rig.simulator.plan({ on: 'submit', faults });
  const earlier = await countsFor(rig, jobSpec);
  const outcome = await rig.provider.submit(jobSpec, always);
  const { posts, jobs } = await countsFor(rig, jobSpec);
  return { jobSpec, outcome, jobs, posts: posts - earlier.posts };
}

test('a job is accepted once, with the attempt’s own id and the whole request', async () => {
  const { jobSpec, outcome, jobs, posts } = await submitWith([]);
  const jobId = promptIdOf(jobSpec.attemptId);
  assert.deepEqual(
    { outcome, jobs, posts },
    { outcome: { kind: 'accepted', jobId }, jobs: 1, posts: 1 },
  );
  const job = (await rig.simulator.jobs()).find(({ id }) => id === jobId);
  assert.ok(job && 'graph' in job && 'outputSpec' in job && 'filename' in job);
  assert.deepEqual(job.outputSpec, { width: 864, height: 496, seconds: 4, audio: false });
  assert.equal(job.filename, `${jobId}_00001_.mp4`);
  assert.match(JSON.stringify(job.graph), /"seed":4294967295/);
});

test('an attempt that was accepted already is not posted again', async () => {
  const { jobSpec, outcome } = await submitWith([]);
  const earlier = await countsFor(rig, jobSpec);
  assert.deepEqual(await rig.provider.submit(jobSpec, always), outcome);
  const { posts, jobs } = await countsFor(rig, jobSpec);
  assert.deepEqual({ posts, jobs }, { posts: earlier.posts, jobs: 1 });
});

for (const status of [302, 400, 409, 425, 502]) {
  test(`after an HTTP ${status} that is not in the server’s format the outcome is unknown`, async () => {
    const { outcome, jobs, posts } = await submitWith([{ kind: 'refuse', status }]);
    assert.equal(outcome.kind, 'unknown');
    assert.deepEqual({ jobs, posts }, { jobs: 0, posts: 1 });
  });
}

test('after a response with a malformed prompt_id the outcome is unknown', async (t) => {
  const host = await startCannedHost();
  t.after(() => host.close());
  const provider = createComfyuiProvider(await usualOptions(host.url));
  t.after(() => provider.stop?.());
  const jobSpec = jobSpecOf();
  const jobPath = `/api/jobs/${promptIdOf(jobSpec.attemptId)}`;
  host.respond(jobPath, { status: 404, json: { error: 'Job not found' } });
  for (const prompt_id of ['', '..', '../queue', 'a\u0000', 'x'.repeat(201), 7]) {
    host.respond('/prompt', { json: { prompt_id, number: 1, node_errors: {} } });
    const outcome = await provider.submit(jobSpec, always);
    assert.equal(outcome.kind, 'unknown', JSON.stringify(prompt_id));
  }
  host.respond('/prompt', { json: { prompt_id: 'an-id' } });
  const accepted = { kind: 'accepted', jobId: 'an-id' };
  assert.deepEqual(await provider.submit(jobSpec, always), accepted);
});

test('a graph that the server refuses is the operator’s fault, with the server’s text', async () => {
  const missing = await workflowWith('NotInstalled', {});
  const provider = await rig.providerWith({ workflows: [missing] });
  assert.deepEqual(await provider.submit(jobSpecOf(), always), {
    kind: 'rejected',
    fault: 'operator',
    cause:
      "missing_node_type: Node 'NotInstalled' not found. The custom node may not be installed.  {}",
  });
});

test('if the read before the post fails, nothing is posted', async () => {
  const jobSpec = jobSpecOf();
  const earlier = await countsFor(rig, jobSpec);
  await rig.simulator.plan({ on: 'read', faults: [{ kind: 'error_after_accepting' }] });
  assert.equal((await rig.provider.submit(jobSpec, always)).kind, 'not_sent');
  await rig.simulator.plan({ on: 'read', faults: [{ kind: 'refuse', status: 401 }] });
  const outcome = await rig.provider.submit(jobSpec, always);
  assert.ok(outcome.kind === 'rejected' && outcome.fault === 'operator');
  assert.equal((await countsFor(rig, jobSpec)).posts, earlier.posts);
});

test('when the time to send is over nothing is sent, or at least nothing is posted', async () => {
  const jobSpec = jobSpecOf();
  const earlier = await countsFor(rig, jobSpec);
  assert.equal((await rig.provider.submit(jobSpec, () => false)).kind, 'not_sent');
  assert.equal((await countsFor(rig, jobSpec)).requests, earlier.requests);
  let calls = 0;
  const onlyAtFirst = () => calls++ === 0;
  assert.equal((await rig.provider.submit(jobSpec, onlyAtFirst)).kind, 'not_sent');
  const { posts, requests } = await countsFor(rig, jobSpec);
  assert.equal(posts, earlier.posts);
  assert.equal(requests, earlier.requests + 1);
});

test('files that no workflow takes are the operator’s fault, and nothing is sent', async () => {
  const url = 'https://video.example.com/1';
  const input = { role: 'first_frame', objectId: 'obj_1', mediaType: 'image/png', url } as const;
  const jobSpec = jobSpecOf([input]);
  const earlier = await countsFor(rig, jobSpec);
  assert.deepEqual(await rig.provider.submit(jobSpec, always), {
    kind: 'rejected',
    fault: 'operator',
    cause: 'no workflow takes first_frame',
  });
  assert.equal((await countsFor(rig, jobSpec)).requests, earlier.requests);
});
