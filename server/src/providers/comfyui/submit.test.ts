import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import type { Fault } from '../../../../simulators/kit/faults.ts';
import { startCannedHost } from '../../../test/providers/canned-host.ts';
import {
  agedFindInput,
  comfyuiAt,
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

/** Submits a job and returns its id. */
async function acceptedJob(): Promise<string> {
  const outcome = await rig.provider.submit(jobSpecOf(), () => true);
  assert.ok(outcome.kind === 'accepted');
  return outcome.jobId;
}

const HOUR_MS = 3_600_000;

/** Makes the server remember a job that it accepted two hours ago. */
async function rememberOldJob(): Promise<void> {
  await rig.simulator.changeJob(await acceptedJob(), { createdAt: Date.now() - 2 * HOUR_MS });
}

/** What the absence of an attempt of this age proves. */
async function proofAt(ageSeconds: number, jobSpec = jobSpecOf()): Promise<string> {
  const found = await rig.provider.find(agedFindInput(jobSpec, ageSeconds));
  assert.ok(found.kind === 'absent', found.kind);
  return found.proof;
}

test('absence is strong only if the server remembers a job from long enough before the attempt', async () => {
  await rig.restart();
  assert.equal(await proofAt(3600), 'weak');
  await acceptedJob();
  assert.equal(await proofAt(3600), 'weak');
  await rememberOldJob();
  assert.equal(await proofAt(2 * 3600 - 30), 'weak');
  assert.equal(await proofAt(3600), 'strong');
});

test('after a restart absence is weak, even if the attempt had a job', async () => {
  await rememberOldJob();
  const jobSpec = jobSpecOf();
  const outcome = await rig.provider.submit(jobSpec, () => true);
  assert.equal(outcome.kind, 'accepted');
  await rig.restart();
  await acceptedJob();
  assert.equal(await proofAt(3600, jobSpec), 'weak');
});

test('the memory’s age is read after the job: a restart in between makes absence weak', async () => {
  const seen = (await rig.simulator.requests()).length;
  await rig.provider.find(agedFindInput(jobSpecOf()));
  const calls = (await rig.simulator.requests()).slice(seen).map(({ call }) => call);
  assert.deepEqual(calls, ['read', 'find']);
});

test('a find throws when either of its reads fails', async () => {
  await rememberOldJob();
  const input = agedFindInput(jobSpecOf(), 3600);
  for (const on of ['read', 'find']) {
    for (const kind of ['drop_after_accepting', 'error_after_accepting', 'unreadable'] as const) {
      await rig.simulator.plan({ on, faults: [{ kind }] });
      await assert.rejects(rig.provider.find(input), { name: 'ServerError' }, `${on} ${kind}`);
      assert.deepEqual(await rig.provider.find(input), { kind: 'absent', proof: 'strong' });
    }
  }
});

test('a server that is too old for /api/jobs gets no job: the operator must update it', async () => {
  const faults = [{ kind: 'refuse', status: 404 } as const];
  await rig.simulator.plan({ on: 'read', times: 2, faults });
  const jobSpec = jobSpecOf();
  const outcome = await rig.provider.submit(jobSpec, () => true);
  assert.ok(outcome.kind === 'rejected' && outcome.fault === 'operator');
  await assert.rejects(rig.provider.find(agedFindInput(jobSpec)), { name: 'ServerError' });
});

test('absence is weak if the server sends no valid Date header', async () => {
  const host = await startCannedHost();
  const jobSpec = jobSpecOf();
  const missing = { status: 404, json: { error: 'Job not found' } };
  host.respond(`/api/jobs/${promptIdOf(jobSpec.attemptId)}`, missing);
  host.respond('/api/jobs', { headers: { date: 'now' }, json: { jobs: [{ create_time: 0 }] } });
  const found = await (await comfyuiAt(host.url)).find(agedFindInput(jobSpec));
  assert.deepEqual(found, { kind: 'absent', proof: 'weak' });
});
