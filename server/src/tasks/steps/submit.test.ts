import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { freezeClock } from '../../../test/frozen-clock.ts';
import {
  claimTask,
  makeSubmittingTask,
  openTaskFixture,
  PRICE,
  REQUEST,
  SUBMIT_TIMEOUT_SECONDS,
  scriptedProvider,
  sql,
  submitDeps,
  type TaskFixture,
} from '../../../test/task-fixtures.ts';
import type { Database } from '../../database/database.ts';
import { balances } from '../../ledger/ledger.ts';
import type { FindOutcome, JobSpec, Provider, SubmitOutcome } from '../../providers/provider.ts';
import { insertAttempt, liveAttempt } from '../attempts/attempts.ts';
import { findJobOf } from '../attempts/find-job.ts';
import { announce } from '../create/announce.ts';
import { createTask, readTask } from '../create/create.ts';
import type { Task } from '../task.ts';
import { type StepResult, Superseded } from '../transitions.ts';
import { type SubmitStepDeps, submitTask } from './submit.ts';

/** A submit's bytes leave within 5 seconds of its record, or not at all. */
const SEND_SECONDS = 5;

let fixture: TaskFixture;
let db: Database;

before(async () => {
  fixture = await openTaskFixture();
  db = fixture.db;
});
after(() => fixture.closeAudited());

function partsWith(provider: Provider, monotonic = () => performance.now()): SubmitStepDeps {
  return { ...submitDeps(fixture, provider), monotonic };
}

function thatSays(outcome: SubmitOutcome): Provider {
  return scriptedProvider({ submit: async () => outcome });
}

function thatFinds(outcome: FindOutcome, findLagSeconds = 0): Provider {
  return scriptedProvider({ find: async () => outcome, findLagSeconds });
}

function moved(next: StepResult): Task {
  assert.ok(next !== 'postponed', 'the task rests');
  return next;
}

interface AttemptRow {
  id: string;
  state: string;
  job_id: string | null;
}

async function attemptsOf(taskId: string): Promise<AttemptRow[]> {
  return sql<AttemptRow>(
    db,
    'select id, state, job_id from attempts where task_id = $1 order by created_at',
    [taskId],
  );
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

test('the provider is told what was asked, under the attempt’s id, which is on record', async () => {
  const { task } = await makeSubmittingTask(fixture);
  let told: JobSpec | undefined;
  const provider = scriptedProvider({
    async submit(jobSpec, mayStillSend) {
      told = jobSpec;
      assert.equal(mayStillSend(), true);
      assert.equal(await stateOfAttempt(task.id), 'in_flight');
      return { kind: 'accepted', jobId: `job-${task.id}` };
    },
  });
  await submitTask(partsWith(provider), task);
  const [attempt] = await attemptsOf(task.id);
  assert.deepEqual(told, {
    attemptId: attempt?.id,
    mode: 'text-to-video',
    model: 'video-2.0-fast',
    prompt: REQUEST.prompt,
    aspectRatio: '16:9',
    resolution: '720p',
    durationSeconds: 5,
    generateAudio: true,
    seed: task.seed,
    inputs: [],
    callbackUrl: `https://media.test/callbacks/scripted/${attempt?.id}`,
  });
});

test('accepted: the job is recorded with its attempt and the task goes on', async () => {
  const { task } = await makeSubmittingTask(fixture);
  const jobId = `job-${task.id}`;
  const next = moved(await submitTask(partsWith(thatSays({ kind: 'accepted', jobId })), task));
  assert.equal(next.phase, 'generating');
  const [attempt] = await attemptsOf(task.id);
  assert.deepEqual([attempt?.state, attempt?.job_id], ['accepted', jobId]);
  assert.deepEqual(await paid(task), HELD);
});

test('a request that the provider refuses fails with its code, message and refund', async () => {
  for (const code of ['content_refused', 'invalid_media', 'invalid_request'] as const) {
    const { task, binding } = await makeSubmittingTask(fixture);
    const refusal = { kind: 'rejected', fault: 'request', code, message: 'Not that.' } as const;
    const next = moved(await submitTask(partsWith(thatSays(refusal)), task));
    assert.deepEqual(
      [next.phase, next.error_code, next.error_message],
      ['failed', code, 'Not that.'],
    );
    assert.equal(await stateOfAttempt(task.id), 'rejected');
    assert.deepEqual(await paid(task), REFUNDED);
    const replayed = await createTask(fixture.deps, binding, REQUEST, PRICE);
    assert.equal(replayed.kind, 'replayed', 'the key stays bound');
  }
});

const NOT_FOR_NOW: Array<[SubmitOutcome, string]> = [
  [{ kind: 'rejected', fault: 'busy', cause: 'queue full' }, 'rejected'],
  [{ kind: 'rejected', fault: 'operator', cause: 'wrong key' }, 'rejected'],
  [{ kind: 'not_sent', cause: 'connection refused' }, 'not_sent'],
];

test('not accepted for now, and nobody was told: refund, and the key is armed again', async () => {
  for (const [outcome, state] of NOT_FOR_NOW) {
    const { task, binding } = await makeSubmittingTask(fixture);
    const next = moved(await submitTask(partsWith(thatSays(outcome)), task));
    assert.equal(next.error_code, 'not_accepted');
    assert.equal(await stateOfAttempt(task.id), state);
    const again = await createTask(fixture.deps, binding, REQUEST, PRICE);
    assert.equal(again.kind, 'created');
  }
});

test('not accepted for now, but announced: the next try is a new attempt', async () => {
  for (const [outcome] of NOT_FOR_NOW) {
    await freezeClock(db, 0);
    const { task } = await makeSubmittingTask(fixture);
    await announce(db, task.id);
    assert.equal(await submitTask(partsWith(thatSays(outcome)), task), 'postponed');
    await freezeClock(db, 1);
    const again = await claimTask(db, task.id);
    const jobId = `job-${task.id}`;
    const next = moved(await submitTask(partsWith(thatSays({ kind: 'accepted', jobId })), again));
    assert.equal(next.phase, 'generating');
    assert.equal((await attemptsOf(task.id)).length, 2);
  }
});

test('an unknown outcome and a provider that throws hold the task, its credits and its attempt', async () => {
  const throwing = scriptedProvider({
    submit: async () => {
      throw new Error('socket hang up');
    },
  });
  for (const provider of [thatSays({ kind: 'unknown', cause: 'timed out' }), throwing]) {
    const { task } = await makeSubmittingTask(fixture);
    const next = moved(await submitTask(partsWith(provider), task));
    assert.deepEqual([next.phase, next.held_cause], ['held', 'acceptance']);
    assert.equal(await stateOfAttempt(task.id), 'unknown');
    assert.deepEqual(await paid(task), HELD);
  }
});

test('nothing is sent once the time to send is over', async () => {
  const { task } = await makeSubmittingTask(fixture);
  let now = 1000;
  const provider = scriptedProvider({
    async submit(_jobSpec, mayStillSend) {
      now += SEND_SECONDS * 1000 - 1;
      assert.equal(mayStillSend(), true);
      now += 1;
      assert.equal(mayStillSend(), false);
      return { kind: 'not_sent', cause: 'too late' };
    },
  });
  const next = moved(
    await submitTask(
      partsWith(provider, () => now),
      task,
    ),
  );
  assert.equal(next.error_code, 'not_accepted');
});

test('the time to send runs from before the attempt is on record', async () => {
  const { task } = await makeSubmittingTask(fixture);
  let now = 1000;
  const slow: Database = {
    ...db,
    transaction(work) {
      now += SEND_SECONDS * 1000;
      return db.transaction(work);
    },
  };
  const provider = scriptedProvider({
    async submit(_jobSpec, mayStillSend) {
      assert.equal(mayStillSend(), false);
      return { kind: 'not_sent', cause: 'too late' };
    },
  });
  await submitTask({ ...partsWith(provider, () => now), db: slow }, task);
  assert.equal(await stateOfAttempt(task.id), 'not_sent');
});

/** A task whose attempt a dead worker left open, now under the lease of another worker. */
async function taskLeftOpen(): Promise<Task> {
  await freezeClock(db, 0);
  const { task } = await makeSubmittingTask(fixture);
  await db.transaction((tx) => insertAttempt(tx, task, 'test'));
  await freezeClock(db, 11);
  return claimTask(db, task.id);
}

test('an attempt left open is looked up, never sent again: found, the task goes on', async () => {
  const task = await taskLeftOpen();
  const jobId = `job-${task.id}`;
  const next = moved(
    await submitTask(partsWith(thatFinds({ kind: 'found', jobId, by: 'mark' })), task),
  );
  assert.equal(next.phase, 'generating');
  assert.equal(await stateOfAttempt(task.id), 'accepted');
});

test('an attempt left open that is absent for good ends as not accepted', async () => {
  const task = await taskLeftOpen();
  const next = moved(
    await submitTask(partsWith(thatFinds({ kind: 'absent', proof: 'final' })), task),
  );
  assert.equal(next.error_code, 'not_accepted');
  assert.equal(await stateOfAttempt(task.id), 'absent');
  assert.deepEqual(await paid(task), REFUNDED);
});

test('strong absence counts only once no submit can be on its way any more', async () => {
  const lagSeconds = 7;
  const settled = SEND_SECONDS + SUBMIT_TIMEOUT_SECONDS + lagSeconds;
  const states = { [settled]: 'unknown', [settled + 0.001]: 'absent' };
  for (const [seconds, state] of Object.entries(states)) {
    const task = await taskLeftOpen();
    await freezeClock(db, Number(seconds));
    await submitTask(partsWith(thatFinds({ kind: 'absent', proof: 'strong' }, lagSeconds)), task);
    assert.equal(await stateOfAttempt(task.id), state);
    const { phase } = await readTask(db, task.id);
    assert.equal(phase, state === 'absent' ? 'submitting' : 'held', 'announced: it is tried again');
  }
});

test('weak absence and several jobs prove nothing, however late', async () => {
  const hints: FindOutcome[] = [
    { kind: 'absent', proof: 'weak' },
    { kind: 'ambiguous', jobIds: ['job-a', 'job-b'] },
  ];
  for (const hint of hints) {
    const task = await taskLeftOpen();
    await freezeClock(db, 100_000);
    const held = moved(await submitTask(partsWith(thatFinds(hint)), task));
    assert.deepEqual([held.phase, held.held_cause], ['held', 'acceptance']);
    assert.equal(await stateOfAttempt(task.id), 'unknown');
    const attempt = await liveAttempt(db, task.id);
    assert.ok(attempt);
    assert.equal(await findJobOf(partsWith(thatFinds(hint)), held, attempt), 'postponed');
    assert.deepEqual(await paid(task), HELD);
  }
});

/** A task held because of an unknown outcome, with its attempt. */
async function heldTask() {
  await freezeClock(db, 0);
  const { task, binding } = await makeSubmittingTask(fixture);
  const unknown = thatSays({ kind: 'unknown', cause: 'timed out' });
  const held = moved(await submitTask(partsWith(unknown), task));
  const attempt = await liveAttempt(db, task.id);
  assert.ok(attempt);
  return { held, attempt, binding };
}

test('a held task goes on when its job is found', async () => {
  const { held, attempt } = await heldTask();
  const deps = partsWith(thatFinds({ kind: 'found', jobId: `job-${held.id}`, by: 'mark' }));
  assert.equal(moved(await findJobOf(deps, held, attempt)).phase, 'generating');
});

test('a held task that was announced fails when there is no job, and its key keeps it', async () => {
  const { held, attempt, binding } = await heldTask();
  await announce(db, held.id);
  const deps = partsWith(thatFinds({ kind: 'absent', proof: 'final' }));
  const next = moved(await findJobOf(deps, held, attempt));
  assert.deepEqual([next.phase, next.error_code], ['failed', 'not_accepted']);
  assert.deepEqual(await paid(held), REFUNDED);
  const replayed = await createTask(fixture.deps, binding, REQUEST, PRICE);
  assert.deepEqual([replayed.kind, replayed.task.id], ['replayed', held.id]);
});

test('a held task that nobody was told of fails when there is no job, and arms its key', async () => {
  const { held, attempt, binding } = await heldTask();
  const deps = partsWith(thatFinds({ kind: 'absent', proof: 'final' }));
  assert.equal(moved(await findJobOf(deps, held, attempt)).error_code, 'not_accepted');
  assert.equal((await createTask(fixture.deps, binding, REQUEST, PRICE)).kind, 'created');
});

test('a second attempt is impossible while one is open, unknown or accepted', async () => {
  const { task } = await makeSubmittingTask(fixture);
  const attempt = await db.transaction((tx) => insertAttempt(tx, task, 'test'));
  for (const state of ['in_flight', 'unknown', 'accepted']) {
    await sql(
      db,
      `update attempts set state = $2, job_id = case when $2 = 'accepted' then id end where id = $1`,
      [attempt.id, state],
    );
    const second = db.transaction((tx) => insertAttempt(tx, task, 'test'));
    await assert.rejects(second, { constraint: 'one_live_attempt' }, state);
  }
  await sql(db, `update attempts set state = 'in_flight', job_id = null where id = $1`, [
    attempt.id,
  ]);
});

test('a worker that lost its lease opens no attempt', async () => {
  const task = await taskLeftOpen();
  const earlier = { ...task, lease: task.lease - 1 };
  await assert.rejects(
    db.transaction((tx) => insertAttempt(tx, earlier, 'test')),
    Superseded,
  );
});

/** What the submit of a worker says only after another worker has taken the task over. */
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
  return { task, next: await submitTask(partsWith(provider), task) };
}

const holdIt = (task: Task) =>
  submitTask(partsWith(thatFinds({ kind: 'absent', proof: 'weak' })), task);

test('an acceptance that comes late, after the task is held, is still evidence', async () => {
  const { task, next } = await outcomeAfterTakeOver({ kind: 'accepted', jobId: 'late-1' }, holdIt);
  assert.equal(next, 'postponed', 'whoever has the lease goes on');
  assert.equal((await readTask(db, task.id)).phase, 'generating');
  const [attempt] = await attemptsOf(task.id);
  assert.deepEqual([attempt?.state, attempt?.job_id], ['accepted', 'late-1']);
  assert.equal((await claimTask(db, task.id)).phase, 'generating', 'it is free for any worker');
});

test('an acceptance that comes while another worker still looks is recorded once', async () => {
  let look = async (): Promise<unknown> => undefined;
  const { task } = await outcomeAfterTakeOver(
    { kind: 'accepted', jobId: 'late-2' },
    async (taken) => {
      const attempt = await liveAttempt(db, taken.id);
      assert.ok(attempt);
      look = () =>
        findJobOf(partsWith(thatFinds({ kind: 'absent', proof: 'weak' })), taken, attempt);
    },
  );
  await assert.rejects(look, Superseded);
  assert.equal((await readTask(db, task.id)).phase, 'generating');
});

test('a refusal that comes late ends a held task with its refund', async () => {
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

test('an outcome that comes after the attempt is resolved changes nothing', async () => {
  const unheld = (task: Task) =>
    submitTask(partsWith(thatFinds({ kind: 'absent', proof: 'final' })), task);
  const late = outcomeAfterTakeOver({ kind: 'accepted', jobId: 'late-3' }, unheld);
  await assert.rejects(late, Superseded);
  const orphans = await sql(
    db,
    `select provider, state, source from orphan_jobs where job_id = $1`,
    ['late-3'],
  );
  assert.deepEqual(orphans, [{ provider: 'scripted', state: 'confirmed', source: 'sender' }]);
  const known = (task: Task) =>
    submitTask(partsWith(thatFinds({ kind: 'found', jobId: `job-${task.id}`, by: 'mark' })), task);
  await assert.rejects(
    outcomeAfterTakeOver({ kind: 'not_sent', cause: 'too late' }, known),
    Superseded,
  );
});

test('an answer is recorded although the database is away when it comes', async () => {
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
      throw Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' });
    },
  };
  let pauses = 0;
  const pause = async () => {
    pauses += 1;
    isAway = pauses < 3;
  };
  const next = await submitTask({ ...partsWith(provider), db: unsteady, pause }, task);
  assert.equal(moved(next).phase, 'generating');
  assert.equal(pauses, 3);
});

test('files are brought ahead of the attempt, and what fails is left to the submit', async () => {
  const { task } = await makeSubmittingTask(fixture);
  const attemptsThen: number[] = [];
  const provider: Provider = {
    ...thatSays({ kind: 'accepted', jobId: `job-${task.id}` }),
    async prepare() {
      attemptsThen.push((await attemptsOf(task.id)).length);
      throw new Error('the upload broke off');
    },
  };
  assert.equal(moved(await submitTask(partsWith(provider), task)).phase, 'generating');
  assert.deepEqual(attemptsThen, [0]);
});

test('a process without the task’s provider sends nothing and leaves no attempt behind', async () => {
  const { task } = await makeSubmittingTask(fixture);
  const providerOf = () => {
    throw new Error('this process has no provider named scripted');
  };
  const deps = { ...partsWith(scriptedProvider({})), providerOf };
  assert.equal(moved(await submitTask(deps, task)).error_code, 'not_accepted');
  assert.deepEqual(await attemptsOf(task.id), []);
});

test('a job that another attempt has is not taken: the task is held', async () => {
  const first = await makeSubmittingTask(fixture);
  const same = thatSays({ kind: 'accepted', jobId: 'job-twice' });
  await submitTask(partsWith(same), first.task);
  const second = await makeSubmittingTask(fixture);
  assert.equal(moved(await submitTask(partsWith(same), second.task)).phase, 'held');
  assert.equal(await stateOfAttempt(second.task.id), 'unknown');
});

test('a busy provider’s own wait is told to the client', async () => {
  const { task } = await makeSubmittingTask(fixture);
  const outcome: SubmitOutcome = {
    kind: 'rejected',
    fault: 'busy',
    cause: 'queue full',
    retryAfterSeconds: 41.5,
  };
  const failed = moved(await submitTask(partsWith(thatSays(outcome)), task));
  assert.deepEqual(failed.error_details, { retry_after_seconds: 42 });
});

test('an unknown outcome that comes late does not disturb who took the task over', async () => {
  await assert.rejects(outcomeAfterTakeOver({ kind: 'unknown', cause: 'cut off' }, holdIt));
});
