import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freezeClock } from '../../test/frozen-clock.ts';
import {
  claimTask,
  dueInSeconds,
  makeSubmittingTask,
  openTaskFixture,
  PRICE,
  scriptedProvider,
  sql,
  submitDeps,
} from '../../test/task-fixtures.ts';
import { balances } from '../ledger/ledger.ts';
import type { Entry } from '../providers/circuit-breaker/breaker.ts';
import { modelsThrough, saveRoute } from '../routing/stored-routes.ts';
import { wakeWaiting } from '../tasks/not-accepted.ts';
import type { Task } from '../tasks/task.ts';
import type { StepResult } from '../tasks/transitions.ts';
import { submitTask } from './submit.ts';

const SUBMIT_RETRY_SECONDS = 600;
const OUTAGE: Entry = { kind: 'refused', by: 'outage', seconds: 20 };
const PAUSE: Entry = { kind: 'refused', by: 'operator', seconds: 30 };

const fixture = await openTaskFixture('audited');
const { db } = fixture;

/** Runs the submit step; nothing may be sent or uploaded. */
function submitWhile(entry: Entry, task: Task): Promise<StepResult> {
  const prepare = () => assert.fail('no file is uploaded');
  const provider = { ...scriptedProvider({}), prepare };
  const breaker = { enter: async () => entry };
  return submitTask({ ...submitDeps(fixture, provider), breaker }, task);
}

async function assertNoAttempt({ id }: Task): Promise<void> {
  assert.deepEqual(await sql(db, 'select id from attempts where task_id = $1', [id]), []);
}

test('while its provider is closed a task waits without an attempt, announced or not', async () => {
  for (const createWaitSeconds of [0, 20]) {
    await freezeClock(db, 0);
    const { task } = await makeSubmittingTask(fixture, { createWaitSeconds });
    assert.equal(await submitWhile(OUTAGE, task), 'postponed');
    const seconds = await dueInSeconds(db, task.id);
    assert.ok(seconds >= 20 && seconds <= 25, String(seconds));
    await assertNoAttempt(task);
    const { paid } = await balances(db, task.account_id);
    assert.deepEqual(paid, { available: 0, reserved: PRICE.credits });
  }
});

test('a task fails with its refund when an outage has lasted for `submitRetrySeconds`', async () => {
  await freezeClock(db, 0);
  const { task } = await makeSubmittingTask(fixture, { createWaitSeconds: 0 });
  assert.equal(await submitWhile(OUTAGE, task), 'postponed');
  await freezeClock(db, SUBMIT_RETRY_SECONDS);
  const failed = await submitWhile(OUTAGE, await claimTask(db, task.id));
  assert.ok(failed !== 'postponed');
  assert.deepEqual([failed.phase, failed.error_code], ['failed', 'provider_unavailable']);
  assert.equal((await balances(db, task.account_id)).paid.available, PRICE.credits);
  await assertNoAttempt(task);
});

test('a pause by an operator does not count toward `submitRetrySeconds`', async () => {
  await freezeClock(db, 0);
  const { task } = await makeSubmittingTask(fixture, { createWaitSeconds: 0 });
  assert.equal(await submitWhile(OUTAGE, task), 'postponed');
  await freezeClock(db, 50);
  assert.equal(await submitWhile(PAUSE, await claimTask(db, task.id)), 'postponed');
  await freezeClock(db, 5000);
  assert.equal(await submitWhile(OUTAGE, await claimTask(db, task.id)), 'postponed');
});

test('the tasks that wait for a provider can be made due at once', async () => {
  await freezeClock(db, 0);
  const { task } = await makeSubmittingTask(fixture, { createWaitSeconds: 0 });
  assert.equal(await submitWhile(PAUSE, task), 'postponed');
  await wakeWaiting(db, 'another', ['another-model']);
  assert.ok((await dueInSeconds(db, task.id)) >= 30);
  await wakeWaiting(db, task.provider, []);
  assert.equal(await dueInSeconds(db, task.id), 0);
  assert.equal(await submitWhile(PAUSE, await claimTask(db, task.id)), 'postponed');
  const steps = [{ connection: task.provider }, { connection: 'another' }];
  const route = { model: task.request.model, choice: 'order', retry_failed: false, steps } as const;
  await db.transaction((tx) => saveRoute(tx, route));
  await wakeWaiting(db, 'another', await modelsThrough(db, 'another'));
  assert.equal(await dueInSeconds(db, task.id), 0, 'it waits at another step of its route');
});

test('the probe of a closed provider ends with the submit, also if the submit throws', async () => {
  await freezeClock(db, 0);
  for (const taken of [true, false]) {
    const { task } = await makeSubmittingTask(fixture, { createWaitSeconds: 0 });
    let ended = 0;
    const end = async () => {
      ended += 1;
    };
    const breaker = { enter: async (): Promise<Entry> => ({ kind: 'admitted', end }) };
    const provider = scriptedProvider({ submit: async () => ({ kind: 'unknown', cause: 'gone' }) });
    if (!taken) await sql(db, 'update tasks set lease = lease + 1 where id = $1', [task.id]);
    const step = submitTask({ ...submitDeps(fixture, provider), breaker }, task);
    await (taken ? step : assert.rejects(step));
    assert.equal(ended, 1);
  }
});
