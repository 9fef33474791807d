import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import {
  findJobInput,
  jobSpecOf,
  type Rig,
  startRig,
} from '../../../test/providers/comfyui-rig.ts';
import { promptIdOf } from './prompt-id.ts';

let rig: Rig;

before(async () => {
  rig = await startRig();
});
after(() => rig?.stop());
beforeEach(() => rig.simulator.clearPlans());

/** Has the server take a job, and says which. */
async function takenJob(): Promise<string> {
  const outcome = await rig.provider.submit(jobSpecOf(), () => true);
  assert.ok(outcome.kind === 'accepted');
  return outcome.jobId;
}

/** A server from before `/api/jobs`. */
async function becomeOld(): Promise<void> {
  const faults = [{ kind: 'refuse', status: 404 } as const];
  await rig.simulator.plan({ on: 'read', times: 1000, faults });
  await rig.simulator.plan({ on: 'find', times: 1000, faults });
}

const WORDS = [
  { word: 'pending', kind: 'working' },
  { word: 'in_progress', kind: 'working' },
  { word: 'completed', kind: 'succeeded' },
  { word: 'failed', kind: 'failed' },
  { word: 'cancelled', kind: 'failed' },
];

const HOUR_MS = 3_600_000;

/** Has the server remember a job that it took two hours ago. */
async function rememberOldJob(): Promise<void> {
  await rig.simulator.changeJob(await takenJob(), { createdAt: Date.now() - 2 * HOUR_MS });
}

test('absence is weak while the server remembers no job from before the attempt', async () => {
  await rig.restart();
  const input = findJobInput(jobSpecOf(), 3600);
  assert.deepEqual(await rig.provider.find(input), { kind: 'absent', proof: 'weak' });
  await takenJob();
  assert.deepEqual(await rig.provider.find(input), { kind: 'absent', proof: 'weak' });
});

test('absence is strong while the server remembers a job from before the attempt', async () => {
  await rememberOldJob();
  await takenJob();
  const strong = { kind: 'absent', proof: 'strong' };
  assert.deepEqual(await rig.provider.find(findJobInput(jobSpecOf(), 3600)), strong);
});

test('a job that is only a little older than the attempt proves nothing', async () => {
  await rig.restart();
  await rememberOldJob();
  const input = findJobInput(jobSpecOf(), 2 * 3600 - 30);
  assert.deepEqual(await rig.provider.find(input), { kind: 'absent', proof: 'weak' });
});

test('a restart makes absence weak, and a job of the attempt itself unfindable', async () => {
  await rememberOldJob();
  const jobSpec = jobSpecOf();
  const outcome = await rig.provider.submit(jobSpec, () => true);
  assert.equal(outcome.kind, 'accepted');
  await rig.restart();
  await takenJob();
  const input = findJobInput(jobSpec, 3600);
  assert.deepEqual(await rig.provider.find(input), { kind: 'absent', proof: 'weak' });
});

test('the proof is asked for after the look-up: a restart in between makes it weak', async () => {
  const seen = (await rig.simulator.requests()).length;
  await rig.provider.find(findJobInput(jobSpecOf()));
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
  test(`a look-up that meets ${fault.kind} at ${on} says nothing`, async () => {
    await rememberOldJob();
    await rig.simulator.plan({ on, faults: [fault] });
    const input = findJobInput(jobSpecOf(), 3600);
    await assert.rejects(rig.provider.find(input), { name: 'ServerTrouble' });
    assert.deepEqual(await rig.provider.find(input), { kind: 'absent', proof: 'strong' });
  });
}

test('a job is found and read on a server from before /api/jobs', async () => {
  await becomeOld();
  const jobSpec = jobSpecOf();
  const jobId = promptIdOf(jobSpec.attemptId);
  assert.deepEqual(await rig.provider.submit(jobSpec, () => true), { kind: 'accepted', jobId });
  const found = await rig.provider.find(findJobInput(jobSpec));
  assert.deepEqual(found, { kind: 'found', jobId, by: 'mark' });
  for (const { word, kind } of WORDS) {
    await rig.simulator.changeJob(jobId, { forcedStatus: word });
    assert.equal((await rig.provider.read(jobId)).kind, kind, word);
  }
});

test('absence is weak on a server from before /api/jobs, which tells no age', async () => {
  await rememberOldJob();
  await becomeOld();
  const input = findJobInput(jobSpecOf(), 3600);
  assert.deepEqual(await rig.provider.find(input), { kind: 'absent', proof: 'weak' });
});

test('an older server is asked for queue, history and queue before a job is missing', async () => {
  await becomeOld();
  const seen = (await rig.simulator.requests()).length;
  await rig.provider.read(promptIdOf('att_never'));
  const calls = (await rig.simulator.requests()).slice(seen).map(({ call }) => call);
  assert.deepEqual(calls, ['read', 'queue', 'history', 'queue']);
});

test('a job that a restart forgot is missing', async () => {
  const jobId = await takenJob();
  await rig.restart();
  assert.deepEqual(await rig.provider.read(jobId), { kind: 'missing' });
  assert.ok((await rig.simulator.jobs()).some(({ id }) => id === jobId)); // though it was taken
});
