import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { agedFindInput, jobSpecOf, startRig } from '../../../test/providers/comfyui-rig.ts';
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

/** Makes the server respond like one that is too old for `/api/jobs`. */
async function becomeOld(): Promise<void> {
  const faults = [{ kind: 'refuse', status: 404 } as const];
  await rig.simulator.plan({ on: 'read', times: 1000, faults });
  await rig.simulator.plan({ on: 'find', times: 1000, faults });
}

const STATUSES = [
  { word: 'pending', kind: 'working' },
  { word: 'in_progress', kind: 'working' },
  { word: 'completed', kind: 'succeeded' },
  { word: 'failed', kind: 'failed' },
  { word: 'cancelled', kind: 'failed' },
];

const HOUR_MS = 3_600_000;

/** Makes the server remember a job that it accepted two hours ago. */
async function rememberOldJob(): Promise<void> {
  await rig.simulator.changeJob(await acceptedJob(), { createdAt: Date.now() - 2 * HOUR_MS });
}

test('absence is weak if the server remembers no job from before the attempt', async () => {
  await rig.restart();
  const input = agedFindInput(jobSpecOf(), 3600);
  assert.deepEqual(await rig.provider.find(input), { kind: 'absent', proof: 'weak' });
  await acceptedJob();
  assert.deepEqual(await rig.provider.find(input), { kind: 'absent', proof: 'weak' });
});

test('absence is strong if the server remembers a job from before the attempt', async () => {
  await rememberOldJob();
  await acceptedJob();
  const strong = { kind: 'absent', proof: 'strong' };
  assert.deepEqual(await rig.provider.find(agedFindInput(jobSpecOf(), 3600)), strong);
});

test('a job that is only a little older than the attempt proves nothing', async () => {
  await rig.restart();
  await rememberOldJob();
  const input = agedFindInput(jobSpecOf(), 2 * 3600 - 30);
  assert.deepEqual(await rig.provider.find(input), { kind: 'absent', proof: 'weak' });
});

test('after a restart absence is weak, even if the attempt had a job', async () => {
  await rememberOldJob();
  const jobSpec = jobSpecOf();
  const outcome = await rig.provider.submit(jobSpec, () => true);
  assert.equal(outcome.kind, 'accepted');
  await rig.restart();
  await acceptedJob();
  const input = agedFindInput(jobSpec, 3600);
  assert.deepEqual(await rig.provider.find(input), { kind: 'absent', proof: 'weak' });
});

test('the memory’s age is read after the job: a restart in between makes absence weak', async () => {
  const seen = (await rig.simulator.requests()).length;
  await rig.provider.find(agedFindInput(jobSpecOf()));
  const calls = (await rig.simulator.requests()).slice(seen).map(({ call }) => call);
  assert.deepEqual(calls, ['read', 'find']);
});

for (const [on, fault] of [
  ['read', { kind: 'drop_after_accepting' }],
  ['read', { kind: 'error_after_accepting', status: 500 }],
  ['read', { kind: 'unreadable' }],
  ['find', { kind: 'drop_after_accepting' }],
  ['find', { kind: 'error_after_accepting', status: 500 }],
  ['find', { kind: 'unreadable' }],
] as const) {
  test(`a find throws when it meets ${fault.kind} at ${on}`, async () => {
    await rememberOldJob();
    await rig.simulator.plan({ on, faults: [fault] });
    const input = agedFindInput(jobSpecOf(), 3600);
    await assert.rejects(rig.provider.find(input), { name: 'ServerError' });
    assert.deepEqual(await rig.provider.find(input), { kind: 'absent', proof: 'strong' });
  });
}

test('a job is found and read on a server without /api/jobs', async () => {
  await becomeOld();
  const jobSpec = jobSpecOf();
  const jobId = promptIdOf(jobSpec.attemptId);
  assert.deepEqual(await rig.provider.submit(jobSpec, () => true), { kind: 'accepted', jobId });
  const found = await rig.provider.find(agedFindInput(jobSpec));
  assert.deepEqual(found, { kind: 'found', jobId, by: 'mark' });
  for (const { word, kind } of STATUSES) {
    await rig.simulator.changeJob(jobId, { forcedStatus: word });
    assert.equal((await rig.provider.read(jobId)).kind, kind, word);
  }
});

test('absence is weak on a server without /api/jobs, because its memory’s age is unknown', async () => {
  await rememberOldJob();
  await becomeOld();
  const input = agedFindInput(jobSpecOf(), 3600);
  assert.deepEqual(await rig.provider.find(input), { kind: 'absent', proof: 'weak' });
});

test('on an older server a job is missing only after queue, history and queue were read', async () => {
  await becomeOld();
  const seen = (await rig.simulator.requests()).length;
  await rig.provider.read(promptIdOf('att_never'));
  const calls = (await rig.simulator.requests()).slice(seen).map(({ call }) => call);
  assert.deepEqual(calls, ['read', 'queue', 'history', 'queue']);
});

test('a job that was lost in a restart is missing', async () => {
  const jobId = await acceptedJob();
  await rig.restart();
  assert.deepEqual(await rig.provider.read(jobId), { kind: 'missing' });
  assert.ok((await rig.simulator.jobs()).some(({ id }) => id === jobId)); // although it was accepted
});
