import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createTestDatabase, quiet, type TestDatabase } from '../../test/database.ts';
import { sql } from '../../test/task-fixtures.ts';
import { until } from '../../test/until.ts';
import type { Database } from '../database/database.ts';
import { installQueue, openQueue, type Queue, type QueueName } from './queue.ts';

let database: TestDatabase;
let db: Database;
let sender: Queue;
const opened: Queue[] = [];

before(async () => {
  database = await createTestDatabase();
  db = database.db;
  sender = await open(false);
});
after(async () => {
  for (const queue of opened) await queue.close();
  await database.close();
});

async function open(work: boolean): Promise<Queue> {
  const queue = await openQueue({ url: database.url, db, log: quiet, work });
  opened.push(queue);
  return queue;
}

async function send(queueName: QueueName, taskId: string): Promise<void> {
  await db.transaction((tx) => sender.enqueue(tx, queueName, taskId));
  sender.wake(queueName);
}

/** The ids of the tasks that have a wake-up in the queue, if they begin with the prefix. */
async function queued(prefix: string): Promise<string[]> {
  const rows = await sql<{ id: string }>(
    db,
    `select data->>'taskId' as id from pgboss.job where data->>'taskId' like $1 and state = 'created'
     order by 1`,
    [`${prefix}%`],
  );
  return rows.map((row) => row.id);
}

test('a wake-up is in the queue when its transaction has committed, not before', async () => {
  const failing = db.transaction(async (tx) => {
    await sender.enqueue(tx, 'task', 'roll_1');
    throw new Error('undone');
  });
  await assert.rejects(failing, /undone/);
  await db.transaction(async (tx) => {
    await sender.enqueue(tx, 'task', 'roll_2');
    assert.deepEqual(await queued('roll_'), [], 'another connection sees nothing yet');
  });
  assert.deepEqual(await queued('roll_'), ['roll_2']);
  await sql(db, `delete from pgboss.job where data->>'taskId' like 'roll_%'`);
});

test('several workers get every wake-up once, from its own queue', async () => {
  const seen: Record<QueueName, string[]> = { task: [], ingest: [] };
  const workers = [await open(true), await open(true)];
  for (const worker of workers) {
    for (const queueName of ['task', 'ingest'] as const) {
      await worker.work(queueName, async (taskId) => {
        seen[queueName].push(taskId);
      });
    }
  }
  const ids = (queueName: QueueName) =>
    Array.from({ length: 40 }, (_, i) => `${queueName}_${10 + i}`);
  await Promise.all(
    (['task', 'ingest'] as const).flatMap((queueName) =>
      ids(queueName).map((id) => send(queueName, id)),
    ),
  );
  await until(
    async () => seen.task.length + seen.ingest.length,
    (count) => count >= 80,
  );
  assert.deepEqual(seen.task.sort(), ids('task'));
  assert.deepEqual(seen.ingest.sort(), ids('ingest'));
  for (const worker of workers) await worker.stopWorking();
});

test('a stopped worker gets no wake-ups; another worker gets them', async () => {
  const [first, second] = [await open(true), await open(true)];
  const seen: string[] = [];
  const handle = (name: string) => async (taskId: string) => {
    seen.push(`${name} ${taskId}`);
  };
  await first.work('task', handle('first'));
  await first.stopWorking();
  await second.work('task', handle('second'));
  await send('task', 'after_stop');
  await until(
    async () => seen.length,
    (count) => count > 0,
  );
  assert.deepEqual(seen, ['second after_stop']);
  await second.stopWorking();
});

test('a wake-up whose handler fails is not retried', async () => {
  const worker = await open(true);
  const seen: string[] = [];
  await worker.work('task', async (taskId) => {
    seen.push(taskId);
    if (taskId === 'bad') throw new Error('no');
  });
  await send('task', 'bad');
  await until(
    async () => seen.length,
    (count) => count === 1,
  );
  await send('task', 'good');
  await until(
    async () => seen.length,
    (count) => count >= 2,
  );
  assert.deepEqual(seen, ['bad', 'good']);
  await worker.stopWorking();
});

test('installing the queue again, also twice at once, keeps its wake-ups', async () => {
  await send('task', 'kept');
  await Promise.all([installQueue(database.url), installQueue(database.url)]);
  assert.deepEqual(await queued('kept'), ['kept']);
});

test('handled wake-ups are deleted again and again, not once a day', async () => {
  const url = database.url;
  opened.push(await openQueue({ url, db, log: quiet, work: true, maintainSeconds: 1 }));
  const handled = async () =>
    sql(db, `select 1 from pgboss.job where data->>'taskId' like 'handled_%'`);
  for (const taskId of ['handled_1', 'handled_2']) {
    await send('task', taskId);
    await sql(
      db,
      `update pgboss.job set state = 'completed', completed_on = now() - interval '2 minutes'
       where data->>'taskId' = $1`,
      [taskId],
    );
    await until(handled, (rows) => rows.length === 0);
  }
});
