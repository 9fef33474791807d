import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { detailsOf } from '../../test/attempt-fixtures.ts';
import { quiet } from '../../test/database.ts';
import {
  makeHeldTask,
  makeSubmittingTask,
  makeTask,
  openTaskFixture,
  PRICE,
  scriptedProvider,
  submitDeps,
} from '../../test/task-fixtures.ts';
import { until } from '../../test/until.ts';
import { cancelAndWait } from '../attempts/cancel.ts';
import { askForCancels, readCancel } from '../attempts/cancel-requests.ts';
import { UsageError } from '../kernel/errors.ts';
import { balances } from '../ledger/ledger.ts';
import type { CancelOutcome, JobStatus, Provider } from '../providers/provider.ts';
import { readTask, type Task } from '../tasks/task.ts';
import { Superseded } from '../tasks/transitions.ts';
import { generate } from '../worker/generate.ts';
import { submitTask } from '../worker/submit.ts';
import { listActions } from './actions.ts';
import { cancelTask } from './verbs/tasks.ts';

const fixture = await openTaskFixture('audited');
const { db } = fixture;

const ACTION = { command: 'tasks cancel', actor: 'ada', reason: 'ticket 7' };
const cancel = (taskId: string) => cancelTask(db, ACTION, taskId, 0);

async function expectRefunded(task: Task, code: string) {
  const { phase, error_code: said } = await readTask(db, task.id);
  assert.deepEqual([phase, said], ['failed', code]);
  const { paid } = await balances(db, task.account_id);
  assert.deepEqual(paid, { available: PRICE.credits, reserved: 0 });
}

/** Who has cancelled a task, by its history. */
async function cancellerOf({ id }: Task): Promise<unknown> {
  const { history } = await detailsOf(fixture, id);
  return (history.at(-1)?.cause as { cancelled_by?: string } | undefined)?.cancelled_by;
}

/** A provider that accepts the job of a task, and how often it was asked to. */
function accepting(task: Task) {
  const submit = mock.fn(async () => ({ kind: 'accepted' as const, jobId: `job-${task.id}` }));
  return { provider: scriptedProvider({ submit }), submits: () => submit.mock.callCount() };
}

/** A task whose job a provider has accepted. */
async function makeAccepted(): Promise<Task> {
  const { task } = await makeSubmittingTask(fixture);
  await submitTask(submitDeps(fixture, accepting(task).provider), task);
  return readTask(db, task.id);
}

/** Polls the job of a task once. */
async function poll(task: Task, status: JobStatus) {
  const provider = scriptedProvider({ read: async () => status });
  const deps = { ...submitDeps(fixture, provider), pollMinSeconds: 1, pollMaxSeconds: 1 };
  await generate(deps, await readTask(db, task.id));
}

/** Sends the requested cancels as a worker does, to a provider that may lack that call. */
function ask(cancel?: () => Promise<CancelOutcome>, name = 'scripted') {
  const provider: Provider = { ...scriptedProvider({}), ...(cancel && { cancel }) };
  return askForCancels({ db, log: quiet, providers: new Map([[name, provider]]) });
}

/** Asks the provider, then polls the job once. */
async function askAndPoll(task: Task, answer: CancelOutcome, status: JobStatus) {
  // One call sends ten cancels, and an earlier test may have left some.
  const asked = async () => {
    await ask(async () => answer);
    return readCancel(db, task.id);
  };
  await until(asked, (request) => request?.state !== 'requested');
  await poll(task, status);
}

test('a task is cancelled once before its submit, with its refund and its reason', async () => {
  for (const { task } of [await makeTask(fixture), await makeSubmittingTask(fixture)]) {
    const runs = await Promise.all([cancel(task.id), cancel(task.id)]);
    assert.deepEqual(runs.map(({ changed }) => changed).sort(), [false, true]);
    await expectRefunded(task, 'cancelled');
    assert.match(JSON.stringify((await detailsOf(fixture, task.id)).history), /ticket 7/);
    assert.equal((await listActions(db, { target: task.id, limit: 9 })).length, 1);
  }
});

test('a cancel and a submit at the same time: the task is submitted or cancelled, never both', async () => {
  for (let round = 0; round < 20; round += 1) {
    const { task } = await makeSubmittingTask(fixture);
    const { provider, submits } = accepting(task);
    const [cancelled, submitted] = await Promise.allSettled([
      cancel(task.id),
      submitTask(submitDeps(fixture, provider), task),
    ]);
    const { phase } = await readTask(db, task.id);
    if (phase === 'failed') {
      assert.equal(submits(), 0);
      assert.ok(submitted.status === 'rejected' && submitted.reason instanceof Superseded);
    } else {
      assert.deepEqual([phase, submits()], ['generating', 1]);
      const isRefused = cancelled.status === 'rejected' && cancelled.reason instanceof UsageError;
      const isRequested = cancelled.status === 'fulfilled' && cancelled.value.cancel !== 'done';
      assert.ok(isRefused || isRequested);
    }
  }
});

test("an owner's cancel waits for a submit at the same time: refunded only if nothing was sent", async () => {
  for (let round = 0; round < 2; round += 1) {
    const { task } = await makeSubmittingTask(fixture);
    const { provider, submits } = accepting(task);
    const [cancelled, again, submitted] = await Promise.allSettled([
      cancelAndWait(db, task, AbortSignal.timeout(1000)),
      cancelAndWait(db, task, AbortSignal.timeout(1000)),
      submitTask(submitDeps(fixture, provider), task),
    ]);
    const outcomes = [cancelled, again].map((one) => {
      assert.equal(one.status, 'fulfilled');
      return one.value.cancel;
    });
    if (submitted.status === 'rejected') {
      assert.ok(submitted.reason instanceof Superseded);
      assert.deepEqual([submits(), ...outcomes], [0, 'cancelled', 'cancelled']);
      await expectRefunded(task, 'cancelled');
    } else {
      assert.deepEqual([submits(), ...outcomes], [1, 'pending', 'pending']);
      const { paid } = await balances(db, task.account_id);
      assert.deepEqual(paid, { available: 0, reserved: PRICE.credits });
    }
  }
});

test('a task can not be cancelled during its submit, nor while its acceptance is unknown', async () => {
  const { task } = await makeSubmittingTask(fixture);
  const provider = scriptedProvider({
    submit: async () => {
      await assert.rejects(cancel(task.id), /is being submitted at this moment/);
      return { kind: 'accepted', jobId: `job-${task.id}` };
    },
  });
  await submitTask(submitDeps(fixture, provider), task);
  assert.equal((await readTask(db, task.id)).phase, 'generating');
  const { held } = await makeHeldTask(fixture);
  await assert.rejects(cancel(held.id), /is held: .* Use "reconcile" instead/);
  await assert.rejects(cancel('task_none'), /there is no task "task_none"/);
});

test('an accepted task ends when the provider has cancelled its job, also if the job is gone', async () => {
  const failed = { kind: 'failed', code: 'provider_failed', message: 'x', billed: true } as const;
  for (const status of [failed, { kind: 'missing' } as const]) {
    const task = await makeAccepted();
    assert.deepEqual(await cancel(task.id), {
      task_id: task.id,
      phase: 'generating',
      cancel: 'requested',
      changed: true,
    });
    assert.equal((await cancel(task.id)).changed, false);
    await askAndPoll(task, { kind: 'accepted' }, status);
    await expectRefunded(task, 'cancelled');
    assert.equal(await cancellerOf(task), 'operator');
    assert.equal((await cancel(task.id)).changed, false);
  }
});

test("the end of an accepted task records its owner's cancel", async () => {
  const task = await makeAccepted();
  const failed = { kind: 'failed', code: 'provider_failed', message: 'x', billed: null } as const;
  const [own] = await Promise.all([
    cancelAndWait(db, task, AbortSignal.timeout(5000)),
    until(() => readCancel(db, task.id)).then(() => askAndPoll(task, { kind: 'accepted' }, failed)),
  ]);
  assert.equal(own.cancel, 'cancelled');
  assert.equal(await cancellerOf(task), 'customer');
});

test('a job that failed before the response to its cancel was recorded counts as cancelled', async () => {
  const task = await makeAccepted();
  await cancel(task.id);
  await poll(task, { kind: 'missing' });
  assert.equal((await readTask(db, task.id)).phase, 'held', 'nobody said that it ended');
  const failed = await makeAccepted();
  await cancel(failed.id);
  await poll(failed, { kind: 'failed', code: 'provider_failed', message: 'x', billed: null });
  await expectRefunded(failed, 'cancelled');
});

test('a job that ends before its cancel completes its task; a refusal is shown with its reason', async () => {
  const won = await makeAccepted();
  await cancel(won.id);
  await askAndPoll(won, { kind: 'accepted' }, { kind: 'succeeded', output: { url: 'x' } });
  assert.equal((await readTask(db, won.id)).phase, 'archiving');
  await assert.rejects(cancel(won.id), /its video is finished/);
  const refused = await makeAccepted();
  const answering = cancelTask(db, ACTION, refused.id, 10);
  await until(() => readCancel(db, refused.id), Boolean);
  await ask(async () => ({ kind: 'refused', cause: 'it runs' }));
  await assert.rejects(answering, /goes on: it runs/);
  assert.equal((await cancel(refused.id)).changed, true, 'it may be requested again');
});

test('a process leaves cancels at providers that it lacks to other processes', async () => {
  const task = await makeAccepted();
  await cancel(task.id);
  for (const name of ['other', 'scripted']) await ask(async () => ({ kind: 'accepted' }), name);
  assert.equal((await readCancel(db, task.id))?.state, 'accepted');
});

test('a provider without a cancel refuses, and a failed call is made again', async () => {
  const task = await makeAccepted();
  await cancel(task.id);
  await ask(() => Promise.reject(new Error('reset')));
  assert.equal((await cancel(task.id)).cancel, 'requested');
  await fixture.database.setClock(40);
  await ask();
  assert.deepEqual(await readCancel(db, task.id), {
    state: 'refused',
    cause: 'scripted has no call that cancels a job',
    requested_by: 'operator',
  });
});
