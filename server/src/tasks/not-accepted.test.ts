import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freezeClock } from '../../test/frozen-clock.ts';
import {
  bindingFor,
  claimTask,
  createTask,
  dueInSeconds,
  makeSubmittingTask,
  openTaskFixture,
  requestFor,
} from '../../test/task-fixtures.ts';
import { balances } from '../ledger/ledger.ts';
import { retryOrFail } from './not-accepted.ts';
import type { Task } from './task.ts';
import { type StepResult, Superseded } from './transitions.ts';

const SUBMIT_RETRY_SECONDS = 600;
/** The wait of a create, as in openTaskFixture. */
const WAIT_SECONDS = 20;

const fixture = await openTaskFixture('audited');
const { db } = fixture;

function recordNotAccepted(task: Task): Promise<StepResult> {
  const options = { submitRetrySeconds: SUBMIT_RETRY_SECONDS, cause: { provider: 'busy' } };
  return db.transaction((tx) => retryOrFail(tx, task, options));
}

test('a task counts as announced when the wait of its create is over by the database’s clock', async () => {
  await freezeClock(db, 0);
  const { task } = await makeSubmittingTask(fixture);
  await freezeClock(db, WAIT_SECONDS);
  assert.equal(await recordNotAccepted(task), 'postponed');
});

test('the pause before the next submit grows from 1 to 30 seconds', async () => {
  await freezeClock(db, 0);
  const { task } = await makeSubmittingTask(fixture, { createWaitSeconds: 0 });
  let current = task;
  for (const [seconds, wait] of [
    [0, 1],
    [8, 2],
    [40, 10],
    [200, 30],
    [599, 30],
  ] as const) {
    await freezeClock(db, seconds);
    assert.equal(await recordNotAccepted(current), 'postponed');
    assert.equal(await dueInSeconds(db, task.id), wait, `after ${seconds} s`);
    await freezeClock(db, seconds + wait);
    current = await claimTask(db, task.id);
  }
});

test('after `submitRetrySeconds` the task fails, and its key is never released: a repeated create returns it', async () => {
  await freezeClock(db, 0);
  const { task, binding } = await makeSubmittingTask(fixture, { createWaitSeconds: 0 });
  assert.equal(await recordNotAccepted(task), 'postponed');
  await freezeClock(db, SUBMIT_RETRY_SECONDS);
  const failed = await recordNotAccepted(await claimTask(db, task.id));
  assert.ok(failed !== 'postponed');
  assert.deepEqual([failed.phase, failed.error_code], ['failed', 'provider_unavailable']);
  assert.deepEqual((await balances(db, task.account_id)).paid, { available: 250, reserved: 0 });
  const replayed = await createTask(fixture.deps, requestFor(binding));
  assert.deepEqual([replayed.kind, replayed.task.id], ['replayed', task.id]);
  const other = bindingFor(task.account_id, binding.idempotencyKey, 'another body');
  await assert.rejects(createTask(fixture.deps, requestFor(other)), {
    code: 'idempotency_conflict',
  });
});

test('a worker that lost its lease neither fails the task nor releases its key', async () => {
  await freezeClock(db, 0);
  // 0: already announced; WAIT_SECONDS: not announced yet
  for (const createWaitSeconds of [0, WAIT_SECONDS]) {
    await freezeClock(db, 0);
    const { task } = await makeSubmittingTask(fixture, { createWaitSeconds });
    await freezeClock(db, 11);
    const taken = await claimTask(db, task.id);
    await assert.rejects(recordNotAccepted(task), Superseded);
    assert.equal((await balances(db, task.account_id)).paid.reserved, 250);
    assert.ok(await recordNotAccepted(taken), 'the worker that has the lease is not superseded');
  }
});
