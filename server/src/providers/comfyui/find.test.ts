import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { startCannedHost } from '../../../test/providers/canned-host.ts';
import {
  agedFindInput,
  comfyuiAt,
  jobSpecOf,
  startRig,
} from '../../../test/providers/comfyui-rig.ts';
import { promptIdOf } from './prompt-id.ts';

const rig = await startRig();
after(() => rig?.stop());
beforeEach(() => rig.simulator.clearPlans());

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

test('a job that was lost in a restart is missing', async () => {
  const jobId = await acceptedJob();
  await rig.restart();
  assert.deepEqual(await rig.provider.read(jobId), { kind: 'missing' });
  assert.ok((await rig.simulator.jobs()).some(({ id }) => id === jobId)); // although it was accepted
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
