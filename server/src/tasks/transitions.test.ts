import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeTask, openTaskFixture, PRICE, sql } from '../../test/task-fixtures.ts';
import { newId } from '../kernel/ids.ts';
import { balances } from '../ledger/ledger.ts';
import { type Phase, readTask, type Task } from './task.ts';
import { type Changes, moveNow, postpone, Superseded, TRANSITIONS } from './transitions.ts';

/** The arrows of the figure in docs/ARCHITECTURE.md, "The life of a task". */
const ARROWS: Array<[Phase, Phase]> = [
  ['reserved', 'ingesting'],
  ['reserved', 'submitting'],
  ['ingesting', 'submitting'],
  ['submitting', 'review'],
  ['review', 'submitting'],
  ['submitting', 'generating'],
  ['generating', 'submitting'],
  ['generating', 'archiving'],
  ['archiving', 'completed'],
  ['submitting', 'held'],
  ['generating', 'held'],
  ['archiving', 'held'],
  ['held', 'generating'],
  ['held', 'archiving'],
  ['reserved', 'failed'],
  ['ingesting', 'failed'],
  ['review', 'failed'],
  ['submitting', 'failed'],
  ['generating', 'failed'],
  ['archiving', 'failed'],
  ['held', 'failed'],
];

/** The shortest path to each phase. */
const PATHS: Record<Phase, Phase[]> = {
  reserved: [],
  ingesting: ['ingesting'],
  submitting: ['submitting'],
  review: ['submitting', 'review'],
  generating: ['submitting', 'generating'],
  archiving: ['submitting', 'generating', 'archiving'],
  held: ['submitting', 'held'],
  completed: ['submitting', 'generating', 'archiving', 'completed'],
  failed: ['failed'],
};
const PHASES = Object.keys(TRANSITIONS) as Phase[];
const { credits } = PRICE;

const fixture = await openTaskFixture();
const { db } = fixture;

/** The changes that the database's checks require for a phase. */
function changesFor(to: Phase): Changes {
  if (to === 'held') return { heldCause: 'outcome' };
  if (to === 'failed') return { error: { code: 'provider_failed', message: 'It failed.' } };
  return to === 'completed' ? { outputObjectId: newId('object') } : {};
}

function go(task: Task, to: Phase): Promise<Task> {
  return moveNow(db, task, { to, changes: changesFor(to) });
}

/** A task that was moved to the phase; its customer's credits cover it exactly. */
async function taskIn(phase: Phase): Promise<Task> {
  let { task } = await makeTask(fixture);
  for (const next of PATHS[phase]) task = await go(task, next);
  return task;
}

const RESERVED = { available: 0, reserved: credits };
const SPENT = { available: 0, reserved: 0 };
const REFUNDED = { available: credits, reserved: 0 };

async function paidOf(task: Task) {
  return (await balances(db, task.account_id)).paid;
}

test('a task can make the moves of the figure and no others', async () => {
  for (const from of PHASES) {
    for (const to of PHASES) {
      const task = await taskIn(from);
      const isDrawn = ARROWS.some(([start, end]) => start === from && end === to);
      if (isDrawn) {
        assert.equal((await go(task, to)).phase, to);
      } else {
        await assert.rejects(go(task, to), /can't go from/, `${from} to ${to}`);
        assert.equal((await readTask(db, task.id)).phase, from);
      }
    }
  }
});

test('the move to completed spends the reserved credits, the move to failed returns them, and no other move changes them', async () => {
  for (const phase of PHASES) {
    const expected = { completed: SPENT, failed: REFUNDED }[String(phase)] ?? RESERVED;
    assert.deepEqual(await paidOf(await taskIn(phase)), expected, phase);
  }
});

test('one of two moves of the same task succeeds, and the credits move once', async () => {
  const task = await taskIn('generating');
  const results = await Promise.allSettled([go(task, 'failed'), go(task, 'failed')]);
  const [refused] = results.filter((result) => result.status === 'rejected');
  assert.ok(refused?.reason instanceof Superseded);
  assert.equal(results.filter((result) => result.status === 'fulfilled').length, 1);
  assert.deepEqual(await paidOf(task), REFUNDED);
});

test('a worker that lost the lease moves nothing', async () => {
  const task = await taskIn('archiving');
  await sql(db, 'update tasks set lease = lease + 1 where id = $1', [task.id]);
  await assert.rejects(go(task, 'completed'), Superseded);
  await assert.rejects(go(task, 'failed'), Superseded);
  assert.deepEqual(await paidOf(task), RESERVED);
});

async function workOf(task: Task) {
  const [row] = await sql<{ has_work: boolean }>(
    db,
    `select due_at is not null as has_work, due_at - clock_now() > interval '1 minute' as is_postponed,
       leased_until is not null as is_leased, internal_failures from tasks where id = $1`,
    [task.id],
  );
  return { ...row };
}

test('a move may be delayed by a fraction of a second', async () => {
  const task = await taskIn('submitting');
  const moved = await moveNow(db, task, { to: 'generating', delaySeconds: 0.6 });
  assert.equal(moved.phase, 'generating');
});

test('a postponed task has no lease and is due later', async () => {
  const postponed = { has_work: true, is_postponed: true, is_leased: false };
  const task = await taskIn('submitting');
  const moved = await moveNow(db, task, { to: 'generating', delaySeconds: 120 });
  assert.deepEqual(await workOf(moved), { ...postponed, internal_failures: 0 });
  assert.equal(await postpone(db, moved, { seconds: 120, internalFailures: 1 }), 'postponed');
  assert.deepEqual(await workOf(moved), { ...postponed, internal_failures: 1 });
  await go(moved, 'archiving');
  assert.deepEqual(await workOf(moved), {
    ...postponed,
    is_postponed: false,
    internal_failures: 0,
  });
});

test('the inputs of an ended task and the output of a failed one are marked for deletion', async () => {
  for (const [to, output] of [
    ['completed', 'ready'],
    ['failed', 'deleting'],
  ] as const) {
    const task = await taskIn('archiving');
    task.request = { ...task.request, image_url: 'https://media.example/first.png' };
    const insert = `insert into stored_objects (id, owner_id, role, state, media_type)
      select role || $1, $1, role, 'ready', 'x/y' from unnest(array['input', 'output']) as role`;
    await sql(db, insert, [task.id]);
    await go(task, to);
    const text = 'select role, state from stored_objects where owner_id = $1 order by role';
    assert.deepEqual(await sql(db, text, [task.id]), [
      { role: 'input', state: 'deleting' },
      { role: 'output', state: output },
    ]);
  }
});
