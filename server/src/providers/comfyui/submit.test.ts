import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import type { Fault } from '../../../../simulators/kit/faults.ts';
import {
  countsFor,
  jobSpecOf,
  startRig,
  workflowWith,
} from '../../../test/providers/comfyui-rig.ts';
import { promptIdOf } from './prompt-id.ts';

const rig = await startRig();
after(() => rig?.stop());
beforeEach(() => rig.simulator.clearPlans());

const always = () => true;

/** Submits with these faults of a call and returns the numbers of requests, posts and jobs. */
async function submitWith(faults: Fault[], { on = 'submit', mayStillSend = always } = {}) {
  const jobSpec = jobSpecOf();
  await rig.simulator.plan({ on, faults });
  const earlier = await countsFor(rig, jobSpec);
  const outcome = await rig.provider.submit(jobSpec, mayStillSend);
  const { posts, jobs, requests } = await countsFor(rig, jobSpec);
  const counts = { posts: posts - earlier.posts, requests: requests - earlier.requests, jobs };
  return { jobSpec, outcome, ...counts };
}

test('a job is accepted once, with the attempt’s own id and the whole request', async () => {
  const { jobSpec, outcome, jobs, posts } = await submitWith([]);
  const jobId = promptIdOf(jobSpec.attemptId);
  const accepted = { outcome: { kind: 'accepted', jobId }, jobs: 1, posts: 1 };
  assert.deepEqual({ outcome, jobs, posts }, accepted);
  const job = (await rig.simulator.jobs()).find(({ id }) => id === jobId);
  assert.ok(job && 'graph' in job && 'outputSpec' in job && 'filename' in job);
  assert.deepEqual(job.outputSpec, { width: 864, height: 496, seconds: 4, audio: false });
  assert.equal(job.filename, `${jobId}_00001_.mp4`);
  assert.match(JSON.stringify(job.graph), /"seed":4294967295/);
});

test('after a response that is not in the server’s format the outcome is unknown', async () => {
  for (const status of [302, 400, 409, 425, 502]) {
    const { outcome, jobs, posts } = await submitWith([{ kind: 'refuse', status }]);
    assert.equal(outcome.kind, 'unknown', String(status));
    assert.deepEqual({ jobs, posts }, { jobs: 0, posts: 1 });
  }
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

test('if the read before the post fails, or the time to send is over, nothing is posted', async () => {
  const failing = await submitWith([{ kind: 'error_after_accepting' }], { on: 'read' });
  assert.deepEqual([failing.outcome.kind, failing.posts], ['not_sent', 0]);
  const { outcome, posts } = await submitWith([{ kind: 'refuse', status: 401 }], { on: 'read' });
  assert.ok(outcome.kind === 'rejected' && outcome.fault === 'operator');
  assert.equal(posts, 0);
  const late = await submitWith([], { mayStillSend: () => false });
  assert.deepEqual([late.outcome.kind, late.requests], ['not_sent', 0]);
  let calls = 0;
  const onlyAtFirst = await submitWith([], { mayStillSend: () => calls++ === 0 });
  assert.deepEqual([onlyAtFirst.outcome.kind, onlyAtFirst.posts], ['not_sent', 0]);
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
