import assert from 'node:assert/strict';
import { test } from 'node:test';
import { detailsOf } from '../../test/attempt-fixtures.ts';
import { freezeClock } from '../../test/frozen-clock.ts';
import {
  claimTask,
  dueInSeconds,
  makeHeldTask,
  makeSubmittingTask,
  openTaskFixture,
  PRICE,
  scriptedProvider,
  sql,
  submitDeps,
} from '../../test/task-fixtures.ts';
import { balances } from '../ledger/ledger.ts';
import { reconcile } from '../operator/reconcile.ts';
import type { JobStatus, Provider } from '../providers/provider.ts';
import { readTask, type Task } from '../tasks/task.ts';
import { wakeTask } from '../tasks/transitions.ts';
import { responseFor } from '../tasks/waiting.ts';
import { type GenerateDeps, generate, recheck } from './generate.ts';
import { openJobTimes } from './job-times.ts';
import { submitTask } from './submit.ts';

const RECONCILE_SECONDS = 45;
/** The scripted provider's own limit, and the grace after it. */
const LIMIT_SECONDS = 3600 + 60;

const fixture = await openTaskFixture('audited');
const { db } = fixture;

/** @param read the status of each job, or what a read does */
function depsThatRead(read: JobStatus | Provider['read']): GenerateDeps {
  const provider = scriptedProvider({
    read: typeof read === 'function' ? read : async () => read,
  });
  return {
    db,
    providerOf: () => provider,
    pollMinSeconds: 2,
    pollMaxSeconds: 15,
    reconcileSeconds: RECONCILE_SECONDS,
    routing: { next: () => undefined, retriesFailed: () => false },
  };
}

/** A task whose job was accepted at second 0; it is claimed again at `seconds`. */
async function generatingTask(seconds: number): Promise<Task> {
  await freezeClock(db, 0);
  const { task } = await makeSubmittingTask(fixture);
  const jobId = `job-${task.id}`;
  const provider = scriptedProvider({ submit: async () => ({ kind: 'accepted', jobId }) });
  await submitTask(submitDeps(fixture, provider), task);
  await freezeClock(db, seconds);
  return seconds === 0 ? readTask(db, task.id) : claimTask(db, task.id);
}

/** Makes the task due and reads it. */
async function dueAgain(task: Task): Promise<Task> {
  await sql(db, 'update tasks set due_at = clock_now() where id = $1', [task.id]);
  return readTask(db, task.id);
}

async function phaseOf(task: Task) {
  const { phase, held_cause: cause } = await readTask(db, task.id);
  return cause === null ? phase : `${phase} (${cause})`;
}

const WORKING: JobStatus = { kind: 'working' };
const MISSING: JobStatus = { kind: 'missing' };

test('a job is read more often around the time at which such jobs end, and less before', async () => {
  const pauses: number[] = [];
  for (const seconds of [0, 20, 45, 56, 60, 70, 100]) {
    const task = await generatingTask(seconds);
    const expectedTime = () => ({ jobs: 20, meanSeconds: 60, deviationSeconds: 4 });
    const jobTimes = { expectedTime, observeWorking: () => {}, observeEnd: () => {} };
    await generate({ ...depsThatRead(WORKING), jobTimes }, task);
    pauses.push(await dueInSeconds(db, task.id));
  }
  assert.deepEqual(pauses, [15, 15, 3, 2.4, 2.4, 2.5, 10]);
});

test('a job that ended while the service was stopped delays no later reads', async () => {
  const jobTimes = openJobTimes(db);
  const task = await generatingTask(20);
  for (let job = 0; job < 20; job += 1) jobTimes.observeEnd(task, 20);
  jobTimes.observeEnd(task, 2 * 86_400);
  for (let job = 0; job < 5; job += 1) {
    await jobTimes.exchange();
    await generate({ ...depsThatRead(WORKING), jobTimes }, await dueAgain(task));
    assert.equal(await dueInSeconds(db, task.id), 20 / 4);
    jobTimes.observeEnd(task, 20);
  }
});

test('how long a job took is learned when it has succeeded', async () => {
  const observed: number[] = [];
  const jobTimes = {
    expectedTime: () => undefined,
    observeWorking: () => {},
    observeEnd: (_: unknown, seconds: number) => void observed.push(seconds),
  };
  for (const status of [WORKING, MISSING, { kind: 'succeeded', output: {} } as const]) {
    await generate({ ...depsThatRead(status), jobTimes }, await generatingTask(60));
  }
  assert.deepEqual(observed, [60]);
});

test('a job that works beyond the provider’s limit is held, and its outcome is still accepted', async () => {
  const task = await generatingTask(LIMIT_SECONDS + 1);
  assert.equal(await generate(depsThatRead(WORKING), task), 'postponed');
  assert.equal(await phaseOf(task), 'held (outcome)');
  const held = await readTask(db, task.id);
  await recheck(depsThatRead({ kind: 'succeeded', output: { url: 'https://x.test/' } }), held);
  assert.equal(await phaseOf(task), 'archiving');
});

test('a missing job is held, and the task goes on when the provider knows the job again', async () => {
  const task = await generatingTask(60);
  await generate(depsThatRead(MISSING), task);
  assert.equal(await phaseOf(task), 'held (outcome)');
  assert.equal(await dueInSeconds(db, task.id), RECONCILE_SECONDS);
  const held = await readTask(db, task.id);
  assert.equal(await recheck(depsThatRead(MISSING), held), 'postponed');
  assert.equal(await phaseOf(task), 'held (outcome)');
  await recheck(depsThatRead(WORKING), await readTask(db, task.id));
  assert.equal(await phaseOf(task), 'generating');
});

test('each time a task is held again, the pause before the next read doubles', async () => {
  const task = await generatingTask(60);
  const pauses: number[] = [];
  for (let times = 0; times < 3; times += 1) {
    await generate(depsThatRead(MISSING), await dueAgain(task));
    pauses.push(await dueInSeconds(db, task.id));
    await recheck(depsThatRead(WORKING), await dueAgain(task));
  }
  assert.deepEqual(pauses, [RECONCILE_SECONDS, 2 * RECONCILE_SECONDS, 4 * RECONCILE_SECONDS]);
});

test('a callback during a step that moves the task is not lost: the task is due at once', async () => {
  const task = await generatingTask(60);
  const deps = depsThatRead(async () => {
    await freezeClock(db, 61);
    await wakeTask(db, task.id);
    return MISSING;
  });
  await generate(deps, task);
  assert.equal(await phaseOf(task), 'held (outcome)');
  assert.ok((await dueInSeconds(db, task.id)) <= 0, 'it is due at once');
});

test('a job that the provider refuses after it was accepted fails its task; whether it was billed is recorded', async () => {
  for (const billed of [true, false, null]) {
    const task = await generatingTask(60);
    const failure = { code: 'content_refused', message: 'Not that.', billed } as const;
    await generate(depsThatRead({ kind: 'failed', ...failure }), task);
    const text = 'select provider_billed from tasks where id = $1';
    assert.deepEqual(await sql(db, text, [task.id]), [{ provider_billed: billed }]);
    const refunded = { available: PRICE.credits, reserved: 0 };
    assert.deepEqual((await balances(db, task.account_id)).paid, refunded);
    const { phase } = responseFor(await readTask(db, task.id));
    assert.equal(phase, 'failed', 'a waiting client gets the failed task, not 400');
  }
});

test('the cost that a provider reports is recorded exactly, however the job ended', async () => {
  const failure = { code: 'provider_failed', message: 'No.', billed: true } as const;
  const ends: [JobStatus, object][] = [
    [
      { kind: 'succeeded', output: {}, cost: { amount: '0.1312', currency: 'usd' } },
      { job_cost: '0.1312', job_cost_currency: 'usd' },
    ],
    [
      { kind: 'failed', ...failure, cost: { amount: '1e-7', currency: 'usd' } },
      { job_cost: '0.0000001', job_cost_currency: 'usd' },
    ],
    [
      { kind: 'succeeded', output: {} },
      { job_cost: null, job_cost_currency: null },
    ],
  ];
  for (const [status, recorded] of ends) {
    const task = await generatingTask(60);
    await generate(depsThatRead(status), task);
    const text = 'select job_cost, job_cost_currency from tasks where id = $1';
    assert.deepEqual(await sql(db, text, [task.id]), [recorded]);
  }
});

test('compute seconds that can’t be true count as not reported, and fail no task', async () => {
  const failure = { code: 'provider_failed', message: 'No.', billed: true } as const;
  const reports: [computeSeconds: number, recorded: string | null][] = [
    [42.125, '42.125'],
    [0, '0'],
    [120, '120'], // the task is 60 seconds old, and clocks may differ by as much
    [121, null],
    [-1, null],
    [Number.NaN, null],
    [Number.POSITIVE_INFINITY, null],
  ];
  const ends: [Extract<JobStatus, { kind: 'succeeded' | 'failed' }>, string][] = [
    [{ kind: 'succeeded', output: {} }, 'archiving'],
    [{ kind: 'failed', ...failure }, 'failed'],
  ];
  for (const [end, phase] of ends) {
    for (const [computeSeconds, recorded] of reports) {
      const task = await generatingTask(60);
      await generate(depsThatRead({ ...end, computeSeconds }), task);
      assert.equal(await phaseOf(task), phase);
      const text = 'select job_compute_seconds as recorded from tasks where id = $1';
      assert.deepEqual(await sql(db, text, [task.id]), [{ recorded }], String(computeSeconds));
    }
  }
});

test('an operator can replace a wrong job id that an operator gave', async () => {
  await freezeClock(db, 0);
  const { held } = await makeHeldTask(fixture);
  await reconcile(db, held.id, { kind: 'accepted', jobId: 'job-mistyped' }, 'typed');
  await generate(depsThatRead(MISSING), await readTask(db, held.id));
  assert.equal(await phaseOf(held), 'held (outcome)');
  await reconcile(db, held.id, { kind: 'accepted', jobId: 'job-typed' }, 'corrected');
  const asked: string[] = [];
  const deps = depsThatRead(async (jobId) => {
    asked.push(jobId);
    return WORKING;
  });
  await generate(deps, await readTask(db, held.id));
  assert.deepEqual(asked, ['job-typed']);
});

test('an operator can fail a task held for its outcome, but can’t give it another job', async () => {
  const task = await generatingTask(60);
  await generate(depsThatRead(MISSING), task);
  const asAccepted = reconcile(db, task.id, { kind: 'accepted', jobId: 'other' }, 'no');
  await assert.rejects(asAccepted, {
    message: /accepted .* as job-.*: it can only be ended as failed/,
  });
  await reconcile(db, task.id, { kind: 'failed' }, 'the provider lost it');
  assert.equal((await readTask(db, task.id)).error_code, 'output_unavailable');
});

test('a job that can’t be read until the end of its limit holds its task, so that an operator can decide it', async () => {
  const deps = depsThatRead(() => Promise.reject(new Error('HTTP 401')));
  const early = await generatingTask(LIMIT_SECONDS - 1);
  await assert.rejects(generate(deps, early), /HTTP 401/, 'it is read again');
  assert.equal(await phaseOf(early), 'generating');
  const late = await generatingTask(LIMIT_SECONDS + 1);
  await generate(deps, late);
  const held = await readTask(db, late.id);
  assert.deepEqual([held.phase, held.held_cause], ['held', 'outcome']);
  assert.match(JSON.stringify((await detailsOf(fixture, held.id)).history.at(-1)), /HTTP 401/);
});
