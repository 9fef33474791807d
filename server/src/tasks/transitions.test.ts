import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { makeCustomer } from '../../test/customer.ts';
import { createTestDatabase } from '../../test/database.ts';
import { reserve } from '../../test/ledger/reserve.ts';
import { statement } from '../database/database.ts';
import { newId } from '../kernel/ids.ts';
import { balances } from '../ledger/ledger.ts';
import { type Phase, readTask, type Task } from './task.ts';
import { type Changes, moveNow, postpone, Superseded, TRANSITIONS } from './transitions.ts';

/** The arrows of the figure in docs/ARCHITECTURE.md, "The life of a task". */
const ARROWS: Array<[Phase, Phase]> = [
  ['reserved', 'ingesting'],
  ['reserved', 'submitting'],
  ['ingesting', 'submitting'],
  ['submitting', 'generating'],
  ['generating', 'archiving'],
  ['archiving', 'completed'],
  ['submitting', 'held'],
  ['generating', 'held'],
  ['archiving', 'held'],
  ['held', 'generating'],
  ['held', 'archiving'],
  ['reserved', 'failed'],
  ['ingesting', 'failed'],
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
  generating: ['submitting', 'generating'],
  archiving: ['submitting', 'generating', 'archiving'],
  held: ['submitting', 'held'],
  completed: ['submitting', 'generating', 'archiving', 'completed'],
  failed: ['failed'],
};
const PHASES = Object.keys(TRANSITIONS) as Phase[];
const CREDITS = 10;

const database = await createTestDatabase();
after(() => database.close());

const REQUEST = {
  image_url: 'https://media.example/first.png',
  reference_image_urls: [],
  reference_video_urls: [],
};

const INSERT = statement(
  'test_task_insert',
  `insert into tasks (id, account_id, surface, idempotency_key, phase, request, seed, credits,
     price_version, provider, wait_until, due_at)
   values ($1, $2, 'api', $1, 'reserved', $4, 1, $3, 1, 'local', clock_now(), clock_now())`,
);

/** The changes that the database's checks require for a phase. */
function changesFor(to: Phase): Changes {
  if (to === 'held') return { heldCause: 'outcome' };
  if (to === 'failed') return { error: { code: 'provider_failed', message: 'It failed.' } };
  return to === 'completed' ? { outputObjectId: newId('object') } : {};
}

function go(task: Task, to: Phase): Promise<Task> {
  return moveNow(database.db, task, { to, changes: changesFor(to) });
}

/** A task of the account that was moved to the phase; its credits were reserved. */
async function taskIn(phase: Phase, accountId: string): Promise<Task> {
  const id = newId('task');
  await database.db.transaction(async (tx) => {
    await reserve(tx, { accountId, taskId: id, credits: CREDITS });
    await tx.query(INSERT, [id, accountId, CREDITS, REQUEST]);
  });
  let task = await readTask(database.db, id);
  for (const next of PATHS[phase]) task = await go(task, next);
  return task;
}

async function paidOf(accountId: string) {
  return (await balances(database.db, accountId)).paid;
}

test('a task can make the moves of the figure and no others', async () => {
  const { accountId } = await makeCustomer(database.db, 10_000);
  for (const from of PHASES) {
    for (const to of PHASES) {
      const task = await taskIn(from, accountId);
      const isDrawn = ARROWS.some(([start, end]) => start === from && end === to);
      if (isDrawn) {
        assert.equal((await go(task, to)).phase, to);
      } else {
        await assert.rejects(go(task, to), /can't go from/, `${from} to ${to}`);
        assert.deepEqual((await readTask(database.db, task.id)).phase, from);
      }
    }
  }
});

test('the move to completed spends the reserved credits, the move to failed returns them, and no other move changes them', async () => {
  for (const phase of PHASES) {
    const { accountId } = await makeCustomer(database.db, 100);
    await taskIn(phase, accountId);
    const expected = {
      completed: { available: 90, reserved: 0 },
      failed: { available: 100, reserved: 0 },
    }[String(phase)] ?? { available: 90, reserved: CREDITS };
    assert.deepEqual(await paidOf(accountId), expected, phase);
  }
});

test('one of two moves of the same task succeeds, and the credits move once', async () => {
  const { accountId } = await makeCustomer(database.db, 100);
  const task = await taskIn('generating', accountId);
  const results = await Promise.allSettled([go(task, 'failed'), go(task, 'failed')]);
  const [refused] = results.filter((result) => result.status === 'rejected');
  assert.ok(refused?.reason instanceof Superseded);
  assert.equal(results.filter((result) => result.status === 'fulfilled').length, 1);
  assert.deepEqual(await paidOf(accountId), { available: 100, reserved: 0 });
});

const TAKE_OVER = statement('test_take_over', 'update tasks set lease = lease + 1 where id = $1');

test('a worker that lost the lease moves nothing', async () => {
  const { accountId } = await makeCustomer(database.db, 100);
  const task = await taskIn('archiving', accountId);
  await database.db.query(TAKE_OVER, [task.id]);
  await assert.rejects(go(task, 'completed'), Superseded);
  await assert.rejects(go(task, 'failed'), Superseded);
  assert.deepEqual(await paidOf(accountId), { available: 90, reserved: CREDITS });
});

const WORK = statement(
  'test_task_work',
  `select due_at is not null as has_work, due_at - clock_now() > interval '1 minute' as is_postponed,
     leased_until is not null as is_leased, internal_failures from tasks where id = $1`,
);

async function workOf(task: Task): Promise<object> {
  const [row] = await database.db.query(WORK, [task.id]);
  return { ...row };
}

test('a live task always has a due time, and an ended task never has one', async () => {
  const { accountId } = await makeCustomer(database.db, 1000);
  for (const phase of PHASES) {
    const task = await taskIn(phase, accountId);
    const [row] = await database.db.query<{ has_work: boolean }>(WORK, [task.id]);
    assert.equal(row?.has_work, phase !== 'completed' && phase !== 'failed', phase);
  }
});

test('a move may be delayed by a fraction of a second', async () => {
  const task = await taskIn('submitting', (await makeCustomer(database.db, 100)).accountId);
  const moved = await moveNow(database.db, task, { to: 'generating', delaySeconds: 0.6 });
  assert.equal(moved.phase, 'generating');
});

test('a postponed task has no lease and is due later', async () => {
  const { accountId } = await makeCustomer(database.db, 100);
  const postponed = { has_work: true, is_postponed: true, is_leased: false };
  const task = await taskIn('submitting', accountId);
  const moved = await moveNow(database.db, task, { to: 'generating', delaySeconds: 120 });
  assert.deepEqual(await workOf(moved), { ...postponed, internal_failures: 0 });
  assert.equal(
    await postpone(database.db, moved, { seconds: 120, internalFailures: 1 }),
    'postponed',
  );
  assert.deepEqual(await workOf(moved), { ...postponed, internal_failures: 1 });
  await go(moved, 'archiving');
  assert.deepEqual(await workOf(moved), {
    ...postponed,
    is_postponed: false,
    internal_failures: 0,
  });
});

const HISTORY = statement(
  'test_history',
  'select phase, cause from task_history where task_id = $1 order by at',
);

test('the history has every move with its cause', async () => {
  const { accountId } = await makeCustomer(database.db, 100);
  const task = await taskIn('generating', accountId);
  const cause = { output: 'the link is gone' };
  await moveNow(database.db, task, { to: 'held', changes: { heldCause: 'outcome' }, cause });
  const notes = await database.db.query<{ phase: Phase; cause: unknown }>(HISTORY, [task.id]);
  assert.deepEqual(
    notes.map((note) => [note.phase, note.cause]),
    [
      ['submitting', null],
      ['generating', null],
      ['held', cause],
    ],
  );
});

const OBJECT = statement(
  'test_object',
  `insert into stored_objects (id, owner_id, role, state, media_type) values ($1, $2, $3, 'ready', 'x/y')`,
);
const STATES = statement(
  'test_object_states',
  'select role, state from stored_objects where owner_id = $1 order by role',
);

test('the inputs of an ended task and the output of a failed one are marked for deletion', async () => {
  const { accountId } = await makeCustomer(database.db, 100);
  for (const [to, output] of [
    ['completed', 'ready'],
    ['failed', 'deleting'],
  ] as const) {
    const task = await taskIn('archiving', accountId);
    for (const role of ['input', 'output']) {
      await database.db.query(OBJECT, [newId('object'), task.id, role]);
    }
    await go(task, to);
    assert.deepEqual(await database.db.query(STATES, [task.id]), [
      { role: 'input', state: 'deleting' },
      { role: 'output', state: output },
    ]);
  }
});
