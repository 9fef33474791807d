import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { freezeClock } from '../../test/frozen-clock.ts';
import {
  claim,
  claimTask,
  makeSubmittingTask,
  makeTask,
  openTaskFixture,
  sql,
} from '../../test/task-fixtures.ts';
import { acceptShared } from '../attempts/apply-outcome.ts';
import { currentAttempt, insertAttempt } from '../attempts/attempts.ts';
import { reclaimLease, release, renew } from './lease.ts';
import { LEASE_SECONDS, moveNow, postpone, Superseded } from './transitions.ts';

const fixture = await openTaskFixture();
const { db } = fixture;
beforeEach(() => freezeClock(db, 0));

test('a lease is renewed only by the worker that still has it', async () => {
  const [kept, lost] = [(await makeTask(fixture)).task.id, (await makeTask(fixture)).task.id];
  const leases = new Map<string, number>();
  for (const id of [kept, lost]) leases.set(id, (await claimTask(db, id)).lease);
  leases.set(lost, 0);
  await freezeClock(db, LEASE_SECONDS - 1);
  await renew(db, leases);
  await freezeClock(db, LEASE_SECONDS + 1);
  assert.equal(await claim(db, kept), undefined);
  assert.ok(await claim(db, lost));
});

test('a task that another transaction has locked delays the renewal of no other lease', async () => {
  const [free, locked] = [(await makeTask(fixture)).task.id, (await makeTask(fixture)).task.id];
  const leases = new Map<string, number>();
  for (const id of [locked, free]) leases.set(id, (await claimTask(db, id)).lease);
  await freezeClock(db, LEASE_SECONDS - 1);
  await db.transaction(async (tx) => {
    const lock = 'select 1 from tasks where id = $1 for update';
    await tx.query({ name: '', text: lock }, [locked]);
    await renew(db, leases);
  });
  await freezeClock(db, LEASE_SECONDS + 1);
  assert.equal(await claim(db, free), undefined);
  assert.ok(await claim(db, locked));
});

test('a released task can be claimed at once; a worker that lost the lease can’t release it', async () => {
  const made = await Promise.all([makeTask(fixture), makeTask(fixture), makeTask(fixture)]);
  const [first, lost, last] = await Promise.all(made.map(({ task }) => claimTask(db, task.id)));
  assert.ok(first && lost && last);
  const released = [first, { ...lost, lease: lost.lease - 1 }, last];
  await Promise.all(released.map((task) => release(db, task)));
  assert.deepEqual(
    [await claim(db, first.id), await claim(db, lost.id), await claim(db, last.id)].map(Boolean),
    [true, false, true],
  );
});

test('a worker that lost the lease does not postpone the task', async () => {
  const { task } = await makeTask(fixture);
  const first = await claimTask(db, task.id);
  await freezeClock(db, LEASE_SECONDS + 1);
  const second = await claimTask(db, task.id);
  await postpone(db, first, { seconds: 1000 });
  assert.ok(await moveNow(db, second, { to: 'submitting' }));
  await release(db, second);
  assert.ok(await claim(db, task.id));
});

test('the sender of a submit reclaims the lease, unless the task no longer waits for the outcome', async () => {
  const { task } = await makeTask(fixture);
  const first = await moveNow(db, await claimTask(db, task.id), { to: 'submitting' });
  assert.equal(await db.transaction((tx) => reclaimLease(tx, first)), first);
  await freezeClock(db, LEASE_SECONDS + 1);
  const second = await claimTask(db, task.id);
  const back = await db.transaction((tx) => reclaimLease(tx, first));
  assert.equal(back.lease, second.lease + 1);
  await assert.rejects(moveNow(db, second, { to: 'generating' }), Superseded);
  await moveNow(db, back, { to: 'generating' });
  const reclaiming = db.transaction((tx) => reclaimLease(tx, second));
  await assert.rejects(reclaiming, Superseded);
});

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

test('of jobs accepted together, none is lost when the lease of one task is superseded', async () => {
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
  const phases = accepted.map((task) => task?.phase);
  assert.deepEqual(phases, ['generating', undefined, 'generating']);
  const states = await Promise.all(
    tasks.map(async ({ id }) => (await currentAttempt(db, id))?.state),
  );
  const expected = ['accepted', 'in_flight', 'accepted'];
  assert.deepEqual(states, expected, 'the caller decides about the second one');
});
