import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { claimTask, makeSubmittingTask, openTaskFixture, sql } from '../../test/task-fixtures.ts';
import { acceptShared } from '../attempts/apply-outcome.ts';
import { currentAttempt, insertAttempt } from '../attempts/attempts.ts';
import { moveNow, Superseded } from './transitions.ts';

const fixture = await openTaskFixture();
const { db } = fixture;
after(() => fixture.closeAudited());

/** Lets another worker lease a task, so that the given lease is superseded. */
async function supersede(taskId: string): Promise<void> {
  await sql(db, 'update tasks set leased_until = null where id = $1', [taskId]);
  await claimTask(db, taskId);
}

async function submitting(count: number) {
  const made = Array.from({ length: count }, () => makeSubmittingTask(fixture));
  return (await Promise.all(made)).map(({ task }) => task);
}

test('of tasks that move together, only the one with a superseded lease does not move', async () => {
  const tasks = await submitting(3);
  await supersede(tasks[1]?.id ?? '');
  const to = { to: 'held', changes: { heldCause: 'acceptance' } } as const;
  const moved = await Promise.allSettled(tasks.map((task) => moveNow(db, task, to)));
  assert.deepEqual(
    moved.map((one) =>
      one.status === 'fulfilled' ? one.value.phase : one.reason instanceof Superseded,
    ),
    ['held', true, 'held'],
  );
  const text = `select from task_history where phase = 'held' and task_id = any($1)`;
  assert.equal((await sql(db, text, [tasks.map(({ id }) => id)])).length, 2);
});

test('of jobs that are accepted together, none is lost when one task has another lease', async () => {
  const tasks = await submitting(3);
  const attempts = await Promise.all(tasks.map((task) => insertAttempt(db, task, 'test')));
  await supersede(tasks[1]?.id ?? '');
  const accepted = await Promise.all(
    tasks.map((task, i) => {
      const attempt = attempts[i];
      assert.ok(attempt);
      return acceptShared(db, { task, attempt, jobId: `job of ${task.id}` });
    }),
  );
  assert.deepEqual(
    accepted.map((task) => task?.phase),
    ['generating', undefined, 'generating'],
  );
  const states = await Promise.all(
    tasks.map(async ({ id }) => (await currentAttempt(db, id))?.state),
  );
  const expected = ['accepted', 'in_flight', 'accepted'];
  assert.deepEqual(states, expected, 'the caller decides about the second one');
});
