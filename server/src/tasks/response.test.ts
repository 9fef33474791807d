import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { quiet } from '../../test/database.ts';
import { makeSubmittingTask, makeTask, openTaskFixture, sql } from '../../test/task-fixtures.ts';
import { openDatabase } from '../database/database.ts';
import { ApiError } from '../kernel/errors.ts';
import { announce } from './create/idempotency-keys.ts';
import { notAccepted } from './not-accepted.ts';
import { type FailureCode, type Phase, readTask, type Task } from './task.ts';
import { awaitResponse, createWaiting } from './waiting.ts';

const fixture = await openTaskFixture();
const { db } = fixture;
const waiting = createWaiting({ db, log: quiet });
after(() => fixture.close());

/** The response to a task's POST, which waits for at most `createWaitSeconds`. */
function respond(task: Task, createWaitSeconds = 60): Promise<Task> {
  return awaitResponse({ db, waiting, createWaitSeconds }, task);
}

async function refusal(task: Task): Promise<ApiError> {
  try {
    await respond(task);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error('the response is 202');
}

interface Ended {
  phase: Phase;
  cause?: 'acceptance' | 'outcome';
  code?: FailureCode;
  details?: object;
}

async function taskThatIs({ phase, cause, code, details }: Ended): Promise<Task> {
  const { task } = await makeTask(fixture);
  await sql(
    db,
    `update tasks set phase = $2, held_cause = $3, error_code = $4, error_message = $5,
       error_details = $6, output_object_id = case when $2 = 'completed' then 'obj_x' end,
       due_at = case when $2 not in ('completed', 'failed') then due_at end
     where id = $1`,
    [task.id, phase, cause, code, code && `It was ${code}.`, details],
  );
  return task;
}

test('the response is 202 for an accepted task in every later phase, also a failed one', async () => {
  const accepted: Ended[] = [
    { phase: 'generating' },
    { phase: 'archiving' },
    { phase: 'completed' },
    { phase: 'held', cause: 'outcome' },
    { phase: 'failed', code: 'provider_failed' },
    { phase: 'failed', code: 'generation_expired' },
    { phase: 'failed', code: 'output_unavailable' },
  ];
  for (const ended of accepted) {
    const response = await respond(await taskThatIs(ended));
    assert.deepEqual([response.phase, response.error_code], [ended.phase, ended.code ?? null]);
  }
});

test('refused media and a refused request are 400 with the reason, the task id and the refund', async () => {
  for (const code of ['invalid_media', 'content_refused', 'invalid_request'] as const) {
    const task = await taskThatIs({ phase: 'failed', code });
    const error = await refusal(task);
    assert.deepEqual([error.code, error.message], ['invalid_request', `It was ${code}.`]);
    assert.deepEqual(error.details, { reason: code, task_id: task.id, credits: 'refunded' });
  }
});

test('the details of refused media name the field and the finer reason', async () => {
  const details = { field: 'image_url', reason: 'not_an_image' };
  const task = await taskThatIs({ phase: 'failed', code: 'invalid_media', details });
  const error = await refusal(task);
  assert.deepEqual(error.details, { ...details, task_id: task.id, credits: 'refunded' });
});

test('a task that is not accepted for now is 503 with Retry-After and the refund', async () => {
  for (const code of ['not_accepted', 'provider_unavailable'] as const) {
    const task = await taskThatIs({ phase: 'failed', code });
    const error = await refusal(task);
    assert.equal(error.code, 'service_busy');
    assert.ok(error.retryAfterSeconds);
    assert.deepEqual(error.details, { task_id: task.id, credits: 'refunded' });
  }
});

test('uncertain acceptance is 503 with the credits held, and is announced first', async () => {
  const task = await taskThatIs({ phase: 'held', cause: 'acceptance' });
  const error = await refusal(task);
  assert.equal(error.code, 'service_busy');
  assert.ok(error.retryAfterSeconds);
  assert.deepEqual(error.details, { task_id: task.id, credits: 'held' });
  assert.notEqual((await readTask(db, task.id)).announced_at, null);
});

test('when the wait is over, the task is announced and the response is 202 with the live task', async () => {
  for (const phase of ['reserved', 'ingesting', 'submitting'] as const) {
    const task = await taskThatIs({ phase });
    const response = await respond(task, 0.02);
    assert.equal(response.phase, phase);
    assert.notEqual(response.announced_at, null);
    assert.notEqual((await readTask(db, task.id)).announced_at, null);
  }
});

test('at shutdown the tasks of waiting creates are announced, and the responses are 202', async () => {
  const stopping = createWaiting({ db, log: quiet });
  const { task } = await makeTask(fixture);
  const deps = { db, waiting: stopping, createWaitSeconds: 60 };
  const response = awaitResponse(deps, task);
  stopping.stop();
  assert.equal((await response).phase, 'reserved');
  assert.notEqual((await readTask(db, task.id)).announced_at, null);
});

test('a task that fails just when the wait is over gets the response of its failure', async () => {
  const { task } = await makeSubmittingTask(fixture);
  const options = { submitRetrySeconds: 600, cause: {} };
  await db.transaction((tx) => notAccepted(tx, task, options));
  const late = createWaiting({ db, log: quiet });
  late.stop();
  await assert.rejects(awaitResponse({ db, waiting: late, createWaitSeconds: 60 }, task), {
    code: 'service_busy',
    details: { task_id: task.id, credits: 'refunded' },
  });
});

test('an internal failure after the reserve is 503, with credits held only for announced tasks', async () => {
  const { task } = await makeTask(fixture);
  const closed = openDatabase({ url: fixture.database.url, connections: 1, log: quiet });
  await closed.close();
  const late = createWaiting({ db: closed, log: quiet });
  const deps = { db: closed, waiting: late, createWaitSeconds: 0.02 };
  const code = 'service_busy';
  await assert.rejects(awaitResponse(deps, task), { code, details: { task_id: task.id } });
  const announced = await announce(db, task.id);
  assert.ok(announced);
  const details = { task_id: task.id, credits: 'held' };
  const readFails = { ...deps, waiting: { outcome: () => Promise.reject(new Error()) } };
  await assert.rejects(awaitResponse(readFails, announced), { code, details });
});
