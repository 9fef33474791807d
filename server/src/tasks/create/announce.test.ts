import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  makeSubmittingTask,
  makeTask,
  openTaskFixture,
  recordAccepted,
  sql,
  untilBlocked,
} from '../../../test/task-fixtures.ts';
import { notAccepted } from '../not-accepted.ts';
import { announce } from './idempotency-keys.ts';

const fixture = await openTaskFixture();
const { db } = fixture;
after(() => fixture.closeAudited());

const OPTIONS = { submitRetrySeconds: 600, cause: { provider: 'busy' } };

test('a task that was announced before it was not accepted is submitted again, not failed', async () => {
  const { task, binding } = await makeSubmittingTask(fixture);
  let refused: Promise<unknown> = Promise.resolve();
  await db.transaction(async (tx) => {
    assert.equal((await announce(tx, task.id))?.id, task.id);
    refused = db.transaction((other) => notAccepted(other, task, OPTIONS));
    await untilBlocked(db);
  });
  assert.equal(await refused, 'postponed');
  assert.equal(await boundTask(binding.idempotencyKey), task.id);
});

test('a task that failed before it was announced, and whose key was released, can’t be announced', async () => {
  const { task, binding } = await makeSubmittingTask(fixture);
  let announced: Promise<unknown> = Promise.resolve();
  await db.transaction(async (tx) => {
    const failed = await notAccepted(tx, task, OPTIONS);
    assert.ok(failed !== 'postponed' && failed.phase === 'failed');
    announced = announce(db, task.id);
    await untilBlocked(db);
  });
  assert.equal(await announced, undefined);
  assert.equal(await boundTask(binding.idempotencyKey), null);
});

async function boundTask(key: string): Promise<string | null | undefined> {
  const text = 'select task_id from idempotency_keys where key = $1';
  return (await sql<{ task_id: string | null }>(db, text, [key]))[0]?.task_id;
}

test('a task that is announced again keeps the time of the first announce', async () => {
  const { task } = await makeTask(fixture);
  const first = await announce(db, task.id);
  const second = await announce(db, task.id);
  assert.ok(first?.announced_at);
  assert.deepEqual(second?.announced_at, first.announced_at);
});

test('a task past acceptance is returned as it is', async () => {
  const { task } = await makeTask(fixture);
  await recordAccepted(db, task.id);
  await sql(db, `update tasks set phase = 'generating' where id = $1`, [task.id]);
  assert.equal((await announce(db, task.id))?.phase, 'generating');
});
