import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quiet } from '../../test/database.ts';
import { freezeClock } from '../../test/frozen-clock.ts';
import {
  claimTask,
  createTask,
  makeHeldTask,
  makeSubmittingTask,
  openTaskFixture,
  PRICE,
  REQUEST,
  requestFor,
  SUBMIT_TIMEOUT_SECONDS,
  scriptedProvider,
  sql,
  submitDeps,
} from '../../test/task-fixtures.ts';
import { currentAttempt, insertAttempt } from '../attempts/attempts.ts';
import { findJobOf } from '../attempts/find-job.ts';
import { type Database, DatabaseUnavailable, openDatabase } from '../database/database.ts';
import { balances } from '../ledger/ledger.ts';
import type { FindOutcome, JobSpec, Provider, SubmitOutcome } from '../providers/provider.ts';
import { announce } from '../tasks/create/idempotency-keys.ts';
import { readTask, type Task } from '../tasks/task.ts';
import { type StepResult, Superseded } from '../tasks/transitions.ts';
import { type SubmitStepDeps, submitTask } from './submit.ts';

/** A submit's first byte is sent within 5 seconds of the attempt's record, or not at all. */
const SEND_SECONDS = 5;

const fixture = await openTaskFixture('audited');
const { db } = fixture;

function depsWith(provider: Provider, monotonic = () => performance.now()): SubmitStepDeps {
  return { ...submitDeps(fixture, provider), monotonic, wallClock: monotonic };
}

function providerReturning(outcome: SubmitOutcome): Provider {
  return scriptedProvider({ submit: async () => outcome });
}

function depsFinding(outcome: FindOutcome, findLagSeconds = 0): SubmitStepDeps {
  return depsWith(scriptedProvider({ find: async () => outcome, findLagSeconds }));
}

function providerAccepting(jobId: string): Provider {
  return providerReturning({ kind: 'accepted', jobId });
}

function assertMoved(next: StepResult): Task {
  assert.ok(next !== 'postponed', 'the task was postponed');
  return next;
}

async function attemptsOf(taskId: string) {
  const select = 'select id, state, job_id from attempts where task_id = $1 order by created_at';
  return sql<{ id: string; state: string; job_id: string | null }>(db, select, [taskId]);
}

async function stateOfAttempt(taskId: string): Promise<string | undefined> {
  const attempts = await attemptsOf(taskId);
  assert.equal(attempts.length, 1);
  return attempts[0]?.state;
}

async function paid(task: Task): Promise<{ available: number; reserved: number }> {
  return (await balances(db, task.account_id)).paid;
}

const HELD = { available: 0, reserved: PRICE.credits };
const REFUNDED = { available: PRICE.credits, reserved: 0 };

test('the provider gets the request with the id of an attempt on record; once it accepts, the task generates', async () => {
  const { task } = await makeSubmittingTask(fixture);
  const jobId = `job-${task.id}`;
  let received: JobSpec | undefined;
  const provider = scriptedProvider({
    async submit(jobSpec, mayStillSend) {
      received = jobSpec;
      assert.equal(mayStillSend(), true);
      assert.equal(await stateOfAttempt(task.id), 'in_flight');
      return { kind: 'accepted', jobId };
    },
  });
  const next = assertMoved(await submitTask(depsWith(provider), task));
  assert.equal(next.phase, 'generating');
  const [attempt] = await attemptsOf(task.id);
  assert.deepEqual([attempt?.state, attempt?.job_id], ['accepted', jobId]);
  assert.deepEqual(await paid(task), HELD);
  assert.deepEqual(received, {
    attemptId: attempt?.id,
    mode: 'text-to-video',
    model: 'video-2.0-fast',
    prompt: REQUEST.prompt,
    aspect_ratio: '16:9',
    resolution: '720p',
    duration: 5,
    generate_audio: true,
    seed: task.seed,
    inputs: [],
    callbackUrl: `https://media.test/callbacks/scripted/${attempt?.id}`,
  });
});

test('a task whose request the provider rejects fails with the code, the message and its refund', async () => {
  for (const code of ['content_refused', 'invalid_media', 'invalid_request'] as const) {
    const { task, binding } = await makeSubmittingTask(fixture);
    const refusal = { kind: 'rejected', fault: 'request', code, message: 'Not that.' } as const;
    const next = assertMoved(await submitTask(depsWith(providerReturning(refusal)), task));
    const { phase, error_code: failure, error_message: message } = next;
    assert.deepEqual([phase, failure, message], ['failed', code, 'Not that.']);
    assert.equal(await stateOfAttempt(task.id), 'rejected');
    assert.deepEqual(await paid(task), REFUNDED);
    const replayed = await createTask(fixture.deps, requestFor(binding));
    assert.equal(replayed.kind, 'replayed', 'the key stays bound');
  }
});

const NOT_ACCEPTED: Array<[SubmitOutcome, string]> = [
  [{ kind: 'rejected', fault: 'busy', cause: 'queue full' }, 'rejected'],
  [{ kind: 'rejected', fault: 'operator', cause: 'wrong key' }, 'rejected'],
  [{ kind: 'not_sent', cause: 'connection refused' }, 'not_sent'],
];

test('a task that is not accepted is refunded and its key released; an announced one gets a new attempt', async () => {
  for (const [outcome, state] of NOT_ACCEPTED) {
    await freezeClock(db, 0);
    const deps = depsWith(providerReturning(outcome));
    const first = await makeSubmittingTask(fixture);
    assert.equal(assertMoved(await submitTask(deps, first.task)).error_code, 'not_accepted');
    assert.equal(await stateOfAttempt(first.task.id), state);
    const { kind } = await createTask(fixture.deps, requestFor(first.binding));
    assert.equal(kind, 'created');
    const { task } = await makeSubmittingTask(fixture);
    await announce(db, task.id);
    assert.equal(await submitTask(deps, task), 'postponed');
    assert.deepEqual(await paid(task), HELD);
    await freezeClock(db, 1);
    const again = await claimTask(db, task.id);
    const next = assertMoved(
      await submitTask(depsWith(providerAccepting(`job-${task.id}`)), again),
    );
    assert.equal(next.phase, 'generating');
    assert.equal((await attemptsOf(task.id)).length, 2);
  }
});

test('an unknown outcome holds the task and keeps its credits reserved; an adapter that throws has the same effect', async () => {
  const throwing = scriptedProvider({ submit: () => Promise.reject(new Error('hung up')) });
  for (const provider of [providerReturning({ kind: 'unknown', cause: 'timed out' }), throwing]) {
    const { task } = await makeSubmittingTask(fixture);
    const next = assertMoved(await submitTask(depsWith(provider), task));
    assert.deepEqual([next.phase, next.held_cause], ['held', 'acceptance']);
    assert.equal(await stateOfAttempt(task.id), 'unknown');
    assert.deepEqual(await paid(task), HELD);
  }
});

test('nothing is sent after the machine was suspended, or once either clock says that it is too late', async () => {
  for (const [monotonicSeconds, wallSeconds, maySend] of [
    [1, SEND_SECONDS, false],
    [SEND_SECONDS, -3600, false],
    [SEND_SECONDS, SEND_SECONDS, false],
    [SEND_SECONDS - 0.001, SEND_SECONDS - 0.001, true],
    [SEND_SECONDS - 1, -3600, true],
  ] as const) {
    const { task } = await makeSubmittingTask(fixture);
    let [monotonic, wallClock] = [1000, 2000];
    const provider = scriptedProvider({
      async submit(_jobSpec, mayStillSend) {
        monotonic += monotonicSeconds * 1000;
        wallClock += wallSeconds * 1000;
        assert.equal(mayStillSend(), maySend);
        return { kind: 'not_sent', cause: 'too late' };
      },
    });
    const deps = { ...depsWith(provider, () => monotonic), wallClock: () => wallClock };
    await submitTask(deps, task);
    assert.equal(await stateOfAttempt(task.id), 'not_sent');
  }
});

test('the time to send begins before the attempt is on record', async () => {
  const { task } = await makeSubmittingTask(fixture);
  let now = 1000;
  const slow: Database = {
    ...db,
    query(sql, values) {
      if (sql.name === 'attempt_insert') now += SEND_SECONDS * 1000;
      return db.query(sql, values);
    },
  };
  const provider = scriptedProvider({
    async submit(_jobSpec, mayStillSend) {
      assert.equal(mayStillSend(), false);
      return { kind: 'not_sent', cause: 'too late' };
    },
  });
  await submitTask({ ...depsWith(provider, () => now), db: slow }, task);
  assert.equal(await stateOfAttempt(task.id), 'not_sent');
});

/** A task whose worker died with an attempt in flight, now leased by another worker. */
async function taskInFlight(): Promise<Task> {
  await freezeClock(db, 0);
  const { task } = await makeSubmittingTask(fixture);
  await insertAttempt(db, task, 'test');
  await freezeClock(db, 11);
  return claimTask(db, task.id);
}

test('the provider is asked for the job of an attempt in flight: it is adopted, or ruled out', async () => {
  const found = await taskInFlight();
  const finds = depsFinding({ kind: 'found', jobId: `job-${found.id}`, by: 'mark' });
  assert.equal(assertMoved(await submitTask(finds, found)).phase, 'generating');
  assert.equal(await stateOfAttempt(found.id), 'accepted');
  const absent = await taskInFlight();
  const deps = depsFinding({ kind: 'absent', proof: 'final' });
  assert.equal(assertMoved(await submitTask(deps, absent)).error_code, 'not_accepted');
  assert.equal(await stateOfAttempt(absent.id), 'absent');
  assert.deepEqual(await paid(absent), REFUNDED);
});

test('strong absence counts only when no submit can be under way', async () => {
  const lagSeconds = 7;
  const settled = SEND_SECONDS + SUBMIT_TIMEOUT_SECONDS + lagSeconds;
  const states = { [settled]: 'unknown', [settled + 0.001]: 'absent' };
  for (const [seconds, state] of Object.entries(states)) {
    const task = await taskInFlight();
    await freezeClock(db, Number(seconds));
    await submitTask(depsFinding({ kind: 'absent', proof: 'strong' }, lagSeconds), task);
    assert.equal(await stateOfAttempt(task.id), state);
    const { phase } = await readTask(db, task.id);
    const expected = state === 'absent' ? 'submitting' : 'held'; // announced: submitted again
    assert.equal(phase, expected);
  }
});

test('weak absence and ambiguous finds prove nothing, also a long time after the submit', async () => {
  const hints: FindOutcome[] = [
    { kind: 'absent', proof: 'weak' },
    { kind: 'ambiguous', jobIds: ['job-a', 'job-b'] },
  ];
  for (const hint of hints) {
    const task = await taskInFlight();
    await freezeClock(db, 100_000);
    const held = assertMoved(await submitTask(depsFinding(hint), task));
    assert.deepEqual([held.phase, held.held_cause], ['held', 'acceptance']);
    assert.equal(await stateOfAttempt(task.id), 'unknown');
    const attempt = await currentAttempt(db, task.id);
    assert.ok(attempt);
    assert.equal(await findJobOf(depsFinding(hint), held, attempt), 'postponed');
    assert.deepEqual(await paid(task), HELD);
  }
});

test('a held task fails when there is no job, and keeps its key if it was announced', async () => {
  const deps = depsFinding({ kind: 'absent', proof: 'final' });
  for (const isAnnounced of [true, false]) {
    await freezeClock(db, 0);
    const { held, attempt, binding } = await makeHeldTask(fixture);
    if (isAnnounced) await announce(db, held.id);
    const next = assertMoved(await findJobOf(deps, held, attempt));
    assert.deepEqual([next.phase, next.error_code], ['failed', 'not_accepted']);
    assert.deepEqual(await paid(held), REFUNDED);
    const { kind, task } = await createTask(fixture.deps, requestFor(binding));
    assert.equal(kind, isAnnounced ? 'replayed' : 'created');
    assert.equal(task.id === held.id, isAnnounced);
  }
});

test('a second attempt is impossible while one is in flight, unknown or accepted', async () => {
  const { task } = await makeSubmittingTask(fixture);
  const attempt = await insertAttempt(db, task, 'test');
  const jobId = `case when $2 = 'accepted' then id end`;
  const update = `update attempts set state = $2, job_id = ${jobId} where id = $1`;
  for (const state of ['in_flight', 'unknown', 'accepted']) {
    await sql(db, update, [attempt.id, state]);
    const second = insertAttempt(db, task, 'test');
    await assert.rejects(second, { constraint: 'one_live_attempt' }, state);
  }
  const restore = `update attempts set state = 'in_flight', job_id = null where id = $1`;
  await sql(db, restore, [attempt.id]);
});

test('a worker that lost its lease records no attempt', async () => {
  const task = await taskInFlight();
  const earlier = { ...task, lease: task.lease - 1 };
  await assert.rejects(insertAttempt(db, earlier, 'test'), Superseded);
});

/** Submits a task; the outcome comes after `takeOver` ran in a worker that leased the task. */
async function outcomeAfterTakeOver(
  outcome: SubmitOutcome,
  takeOver: (task: Task) => Promise<unknown>,
): Promise<{ task: Task; next: StepResult }> {
  await freezeClock(db, 0);
  const { task } = await makeSubmittingTask(fixture, { createWaitSeconds: 0 });
  const provider = scriptedProvider({
    async submit() {
      await freezeClock(db, 11);
      await takeOver(await claimTask(db, task.id));
      return outcome;
    },
  });
  return { task, next: await submitTask(depsWith(provider), task) };
}

const holdIt = (task: Task) => submitTask(depsFinding({ kind: 'absent', proof: 'weak' }), task);

test('a late acceptance of a held task is applied', async () => {
  const { task, next } = await outcomeAfterTakeOver({ kind: 'accepted', jobId: 'late-1' }, holdIt);
  assert.equal(next, 'postponed', 'the worker with the lease goes on');
  assert.equal((await readTask(db, task.id)).phase, 'generating');
  const [attempt] = await attemptsOf(task.id);
  assert.deepEqual([attempt?.state, attempt?.job_id], ['accepted', 'late-1']);
  assert.equal((await claimTask(db, task.id)).phase, 'generating', 'any worker may claim it');
});

test('an acceptance during another worker’s find is recorded once', async () => {
  let look = async (): Promise<unknown> => undefined;
  const accepted = { kind: 'accepted', jobId: 'late-2' } as const;
  const { task } = await outcomeAfterTakeOver(accepted, async (taken) => {
    const attempt = await currentAttempt(db, taken.id);
    assert.ok(attempt);
    look = () => findJobOf(depsFinding({ kind: 'absent', proof: 'weak' }), taken, attempt);
  });
  await assert.rejects(look, Superseded);
  assert.equal((await readTask(db, task.id)).phase, 'generating');
});

test('a late rejection ends a held task with its refund, a late unknown outcome changes nothing', async () => {
  await assert.rejects(outcomeAfterTakeOver({ kind: 'unknown', cause: 'cut off' }, holdIt));
  const message = 'Not that.';
  const outcomes: Array<[SubmitOutcome, string]> = [
    [{ kind: 'rejected', fault: 'request', code: 'content_refused', message }, 'content_refused'],
    [{ kind: 'rejected', fault: 'busy', cause: 'queue full' }, 'not_accepted'],
    [{ kind: 'not_sent', cause: 'too late' }, 'not_accepted'],
  ];
  for (const [outcome, code] of outcomes) {
    const { task } = await outcomeAfterTakeOver(outcome, holdIt);
    assert.equal((await readTask(db, task.id)).error_code, code);
    assert.deepEqual(await paid(task), REFUNDED);
  }
});

test('an outcome that comes after the attempt got another outcome changes nothing, and its job is an orphan', async () => {
  const unheld = (task: Task) => submitTask(depsFinding({ kind: 'absent', proof: 'final' }), task);
  const late = outcomeAfterTakeOver({ kind: 'accepted', jobId: 'late-3' }, unheld);
  await assert.rejects(late, Superseded);
  const text = `select provider, state, source from orphan_jobs where job_id = 'late-3'`;
  const orphans = await sql(db, text);
  assert.deepEqual(orphans, [{ provider: 'scripted', state: 'confirmed', source: 'sender' }]);
  const known = (task: Task) =>
    submitTask(depsFinding({ kind: 'found', jobId: `job-${task.id}`, by: 'mark' }), task);
  const notSent = outcomeAfterTakeOver({ kind: 'not_sent', cause: 'too late' }, known);
  await assert.rejects(notSent, Superseded);
});

test('an outcome is recorded when the database can be reached again', async () => {
  const { task } = await makeSubmittingTask(fixture);
  const jobId = `job-${task.id}`;
  let isAway = false;
  const provider = scriptedProvider({
    submit: async () => {
      isAway = true;
      return { kind: 'accepted', jobId };
    },
  });
  const unsteady: Database = {
    ...db,
    async transaction(work) {
      if (!isAway) return db.transaction(work);
      throw new DatabaseUnavailable(new Error('connection refused'));
    },
  };
  let pauses = 0;
  const pause = async () => {
    pauses += 1;
    isAway = pauses < 3;
  };
  const next = await submitTask({ ...depsWith(provider), db: unsteady, pause }, task);
  assert.equal(assertMoved(next).phase, 'generating');
  assert.equal(pauses, 3);
});

test('recording an outcome ends when the process has closed the database', async () => {
  const { task } = await makeSubmittingTask(fixture);
  const own = openDatabase({ url: fixture.database.url, connections: 1, log: quiet });
  let pauses = 0;
  const provider = scriptedProvider({
    submit: async () => {
      await own.close();
      return { kind: 'accepted', jobId: `job-${task.id}` };
    },
  });
  const pause = async () => {
    pauses += 1;
  };
  const deps = { ...depsWith(provider), db: own, pause };
  await assert.rejects(submitTask(deps, task), /could not be recorded/);
  assert.equal(pauses, 0);
});

test('files are uploaded before the attempt is recorded, and a failed upload is ignored', async () => {
  const { task } = await makeSubmittingTask(fixture);
  const attemptsThen: number[] = [];
  const provider: Provider = {
    ...providerAccepting(`job-${task.id}`),
    async prepare() {
      attemptsThen.push((await attemptsOf(task.id)).length);
      throw new Error('the upload broke off');
    },
  };
  assert.equal(assertMoved(await submitTask(depsWith(provider), task)).phase, 'generating');
  assert.deepEqual(attemptsThen, [0]);
});

test('a process without the task’s provider sends nothing and records no attempt', async () => {
  const { task } = await makeSubmittingTask(fixture);
  const providerOf = () => {
    throw new Error('this process has no provider named scripted');
  };
  const deps = { ...depsWith(scriptedProvider({})), providerOf };
  assert.equal(assertMoved(await submitTask(deps, task)).error_code, 'not_accepted');
  assert.deepEqual(await attemptsOf(task.id), []);
});

test('a task whose provider names a job of another attempt is held', async () => {
  const first = await makeSubmittingTask(fixture);
  const same = providerAccepting('job-twice');
  await submitTask(depsWith(same), first.task);
  const second = await makeSubmittingTask(fixture);
  assert.equal(assertMoved(await submitTask(depsWith(same), second.task)).phase, 'held');
  assert.equal(await stateOfAttempt(second.task.id), 'unknown');
});
