import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { quiet } from '../../test/database.ts';
import { makeTask, openTaskFixture, sql } from '../../test/task-fixtures.ts';
import { type Database, openDatabase } from '../database/database.ts';
import { createWaiting, hasEnded } from './waiting.ts';

const fixture = await openTaskFixture();
const { db } = fixture;
after(() => fixture.close());

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
  const waiting = createWaiting({ db, log: quiet });
  for (const phase of ['generating', 'archiving', 'held']) {
    const { task } = await makeTask(fixture);
    const outcome = waiting.outcome(task.id, PATIENCE_SECONDS);
    await setPhase(task.id, 'ingesting');
    await setPhase(task.id, 'submitting');
    await setPhase(task.id, phase);
    assert.equal((await outcome)?.phase, phase);
  }
});

test('a wait ends with undefined when its time is over; a wait of 0 ends at once', async () => {
  const waiting = createWaiting({ db, log: quiet });
  const { task } = await makeTask(fixture);
  assert.equal(await waiting.outcome(task.id, 0.05), undefined);
  assert.equal(await waiting.outcome(task.id, 0), undefined);
  await setPhase(task.id, 'generating');
  assert.equal((await waiting.outcome(task.id, PATIENCE_SECONDS))?.id, task.id);
});

test('stopping ends the waits under way and all later ones', async () => {
  const waiting = createWaiting({ db, log: quiet });
  const { task } = await makeTask(fixture);
  const underWay = waiting.outcome(task.id, PATIENCE_SECONDS);
  waiting.stop();
  assert.equal(await underWay, undefined);
  await setPhase(task.id, 'generating');
  assert.equal(await waiting.outcome(task.id, PATIENCE_SECONDS), undefined);
});

test('any number of waits hold no database connection', async () => {
  const narrow = openDatabase({ url: fixture.database.url, connections: 1, log: quiet });
  const waiting = createWaiting({ db: narrow, log: quiet });
  const made = await Promise.all(Array.from({ length: 20 }, () => makeTask(fixture)));
  const outcomes = made.map(({ task }) => waiting.outcome(task.id, PATIENCE_SECONDS));
  for (const { task } of made) await setPhase(task.id, 'generating');
  const phases = (await Promise.all(outcomes)).map((task) => task?.phase);
  assert.deepEqual(phases, Array(20).fill('generating'));
  await narrow.close();
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
  assert.equal((await waiting.outcome(task.id, PATIENCE_SECONDS))?.id, task.id);
  assert.ok(failures < 0);
});

async function endTask(id: string): Promise<void> {
  await sql(
    db,
    `update tasks set phase = 'failed', due_at = null, error_code = 'provider_failed',
       error_message = 'It failed.' where id = $1`,
    [id],
  );
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
  const create = waiting.outcome(first, PATIENCE_SECONDS);
  const reads = [...ids, second].map((taskId) => waiting.end({ ...READ, taskId }));
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

test('requests of the process that moves a task are told without a query', async () => {
  const silent = { ...db, query: () => new Promise<never>(() => {}) };
  const waiting = createWaiting({ db: silent, log: quiet });
  const { task } = await makeTask(fixture);
  const create = waiting.outcome(task.id, PATIENCE_SECONDS);
  const read = waiting.end({ ...READ, taskId: task.id });
  waiting.moved({ ...task, phase: 'submitting' });
  waiting.moved({ ...task, id: 'task_other', phase: 'completed' });
  waiting.moved({ ...task, phase: 'generating' });
  assert.equal((await create)?.phase, 'generating');
  waiting.moved({ ...task, phase: 'completed' });
  assert.deepEqual(await read, { ...task, phase: 'completed' });
});

test('a read that waits ends when its time is over, its client has gone or all is stopped', async () => {
  const waiting = createWaiting({ db, log: quiet });
  const { task } = await makeTask(fixture);
  const leaving = new AbortController();
  const gone = waiting.end({ ...READ, taskId: task.id, signal: leaving.signal });
  leaving.abort();
  assert.equal(await gone, 'gone');
  assert.equal(await waiting.end({ ...READ, taskId: task.id, seconds: 0.05 }), 'over');
  const stopped = waiting.end({ ...READ, taskId: task.id });
  waiting.stop();
  assert.equal(await stopped, 'stopped');
  assert.equal(waiting.end({ ...READ, taskId: task.id }), undefined);
});

test('reads have a number of slots per key and per process, and free them', async () => {
  const waiting = createWaiting({ db, log: quiet });
  const { task } = await makeTask(fixture);
  const enter = (keyId: string) => waiting.end({ ...READ, taskId: task.id, keyId });
  const taken = Array.from({ length: 4000 }, (_, i) => enter(`key_${Math.floor(i / 20)}`));
  assert.ok(taken.every((one) => one !== undefined));
  assert.equal(enter('key_other'), undefined, 'the process is full');
  await endTask(task.id);
  await Promise.all(taken);
  const again = Array.from({ length: 21 }, () => enter('key_1'));
  assert.deepEqual(
    again.map((one) => one !== undefined),
    [...Array(20).fill(true), false],
  );
  await Promise.all(again);
});
