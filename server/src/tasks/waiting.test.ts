import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quiet } from '../../test/database.ts';
import { makeSubmittingTask, makeTask, openTaskFixture, sql } from '../../test/task-fixtures.ts';
import { type Database, openDatabase } from '../database/database.ts';
import { ApiError } from '../kernel/errors.ts';
import { announce } from './create/idempotency-keys.ts';
import { retryOrFail } from './not-accepted.ts';
import { type FailureCode, type Phase, readTask, type Task } from './task.ts';
import { awaitResponse, createWaiting, hasEnded } from './waiting.ts';

const fixture = await openTaskFixture();
const { db } = fixture;
const waiting = createWaiting({ db, log: quiet });

function setPhase(taskId: string, phase: string): Promise<unknown[]> {
  const cause = phase === 'held' ? 'acceptance' : null;
  const text = 'update tasks set phase = $2, held_cause = $3 where id = $1';
  return sql(db, text, [taskId, phase, cause]);
}

/** The database, where each query goes through `around`. */
function databaseAround(around: (query: () => Promise<object[]>) => Promise<object[]>): Database {
  const query = (...args: Parameters<typeof db.query>) => around(() => db.query(...args));
  return { ...db, query: query as typeof db.query };
}

const PATIENCE_SECONDS = 60;

test('a wait ends when the task leaves the phases before acceptance, and returns the task', async () => {
  for (const phase of ['generating', 'archiving', 'held', 'review']) {
    const { task } = await makeTask(fixture);
    const outcome = waiting.untilDecided(task.id, PATIENCE_SECONDS);
    await setPhase(task.id, 'ingesting');
    await setPhase(task.id, 'submitting');
    await setPhase(task.id, phase);
    assert.equal((await outcome)?.phase, phase);
  }
});

test('a wait ends with undefined when its time is over; a wait of 0 ends at once', async () => {
  const { task } = await makeTask(fixture);
  assert.equal(await waiting.untilDecided(task.id, 0.05), undefined);
  assert.equal(await waiting.untilDecided(task.id, 0), undefined);
  await setPhase(task.id, 'generating');
  assert.equal((await waiting.untilDecided(task.id, PATIENCE_SECONDS))?.id, task.id);
});

test('a wait goes on after a failed read', async () => {
  const { task } = await makeTask(fixture);
  let failures = 2;
  const shaky = databaseAround(async (query) => {
    failures -= 1;
    if (failures >= 0) throw new Error('the connection was lost');
    return query();
  });
  const waiting = createWaiting({ db: shaky, log: quiet });
  await setPhase(task.id, 'generating');
  assert.equal((await waiting.untilDecided(task.id, PATIENCE_SECONDS))?.id, task.id);
  assert.ok(failures < 0);
});

async function endTask(id: string): Promise<void> {
  const update = `update tasks set phase = 'failed', due_at = null, error_code = 'provider_failed',
      error_message = 'It failed.' where id = $1`;
  await sql(db, update, [id]);
}

const READ = { seconds: PATIENCE_SECONDS, keyId: 'key_1', signal: new AbortController().signal };

test('creates and reads that wait share one query, which returns only tasks with news', async () => {
  const rows: number[] = [];
  const counting = databaseAround(async (query) => {
    const found = await query();
    rows.push(found.length);
    return found;
  });
  const waiting = createWaiting({ db: counting, log: quiet });
  const made = await Promise.all(Array.from({ length: 12 }, () => makeTask(fixture)));
  const ids = made.map(({ task }) => task.id);
  const [first = '', second = ''] = ids;
  const create = waiting.untilDecided(first, PATIENCE_SECONDS);
  const reads = [...ids, second].map((taskId) => waiting.untilEnded({ ...READ, taskId }));
  await setPhase(first, 'generating');
  assert.equal((await create)?.phase, 'generating');
  for (const id of ids) await endTask(id);
  for (const outcome of await Promise.all(reads)) {
    assert.ok(typeof outcome === 'object' && hasEnded(outcome));
  }
  const news = rows.filter((count) => count > 0);
  assert.ok(news.length <= 13, 'far fewer queries than waits');
  assert.ok(rows.reduce((a, b) => a + b, 0) <= 14, 'a task without news is no row');
});

test('waiting requests in the process that moves a task need no query', async () => {
  const silent = { ...db, query: () => new Promise<never>(() => {}) };
  const waiting = createWaiting({ db: silent, log: quiet });
  const { task } = await makeTask(fixture);
  const create = waiting.untilDecided(task.id, PATIENCE_SECONDS);
  const read = waiting.untilEnded({ ...READ, taskId: task.id });
  waiting.tell({ ...task, phase: 'submitting' });
  waiting.tell({ ...task, id: 'task_other', phase: 'completed' });
  waiting.tell({ ...task, phase: 'generating' });
  assert.equal((await create)?.phase, 'generating');
  waiting.tell({ ...task, phase: 'completed' });
  assert.deepEqual(await read, { ...task, phase: 'completed' });
});

test('a waiting read ends at its timeout, when its client has gone or when all is stopped', async () => {
  const waiting = createWaiting({ db, log: quiet });
  const { task } = await makeTask(fixture);
  const leaving = new AbortController();
  const gone = waiting.untilEnded({ ...READ, taskId: task.id, signal: leaving.signal });
  leaving.abort();
  assert.equal(await gone, 'gone');
  assert.equal(await waiting.untilEnded({ ...READ, taskId: task.id, seconds: 0.05 }), 'timeout');
  const stopped = waiting.untilEnded({ ...READ, taskId: task.id });
  waiting.stop();
  assert.equal(await stopped, 'stopped');
  assert.equal(waiting.untilEnded({ ...READ, taskId: task.id }), undefined);
});

test('waiting reads have a limited number of slots per key and per process, and free them', async () => {
  const { task } = await makeTask(fixture);
  const enter = (keyId: string) => waiting.untilEnded({ ...READ, taskId: task.id, keyId });
  const taken = Array.from({ length: 4000 }, (_, i) => enter(`key_${Math.floor(i / 20)}`));
  assert.ok(taken.every((one) => one !== undefined));
  assert.equal(enter('key_other'), undefined, 'the process is full');
  await endTask(task.id);
  await Promise.all(taken);
  const again = Array.from({ length: 21 }, () => enter('key_1'));
  const isClaimed = again.map((one) => one !== undefined);
  assert.deepEqual(isClaimed, [...Array(20).fill(true), false]);
  await Promise.all(again);
});

/** The response to a task's POST, which waits for at most `createWaitSeconds`. */
function respond(task: Task, createWaitSeconds = 60): Promise<Task> {
  return awaitResponse({ db, waiting, createWaitSeconds }, task);
}

async function refusal(task: Task) {
  const result = await respond(task).catch((error: unknown) => error);
  assert.ok(result instanceof ApiError, 'the response is 202');
  return result;
}

interface Ended {
  phase: Phase;
  cause?: 'acceptance' | 'outcome';
  code?: FailureCode;
  details?: object;
}

async function taskThatIs({ phase, cause, code, details }: Ended): Promise<Task> {
  const { task } = await makeTask(fixture);
  const update = `update tasks set phase = $2, held_cause = $3, error_code = $4, error_message = $5,
      error_details = $6, output_object_id = case when $2 = 'completed' then 'obj_x' end,
      due_at = case when $2 not in ('completed', 'failed') then due_at end
    where id = $1`;
  await sql(db, update, [task.id, phase, cause, code, code && `It was ${code}.`, details]);
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

test('a task that failed before its acceptance is 400 with the reason or 503 with Retry-After, and refunded', async () => {
  const field = { field: 'image_url', reason: 'not_an_image' };
  for (const [code, details] of [
    ['invalid_media', undefined],
    ['content_refused', undefined],
    ['invalid_request', undefined],
    ['invalid_media', field],
  ] as const) {
    const task = await taskThatIs({ phase: 'failed', code, ...(details && { details }) });
    const error = await refusal(task);
    assert.deepEqual([error.code, error.message], ['invalid_request', `It was ${code}.`]);
    const shown = { reason: code, ...details, task_id: task.id, credits: 'refunded' };
    assert.deepEqual(error.details, shown);
  }
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

test('a task in review is 202 before the wait is over, and is announced first', async () => {
  const task = await taskThatIs({ phase: 'review' });
  assert.equal((await respond(task)).phase, 'review');
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
  await db.transaction((tx) => retryOrFail(tx, task, options));
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
  const readFails = { ...deps, waiting: { untilDecided: () => Promise.reject(new Error()) } };
  await assert.rejects(awaitResponse(readFails, announced), { code, details });
});
