import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quiet } from '../../test/database.ts';
import { freezeClock } from '../../test/frozen-clock.ts';
import {
  makeSubmittingTask,
  openTaskFixture,
  PRICE,
  scriptedProvider,
  sql,
  submitDeps,
} from '../../test/task-fixtures.ts';
import { currentAttempt } from '../attempts/attempts.ts';
import { findJobOf } from '../attempts/find-job.ts';
import { balances } from '../ledger/ledger.ts';
import { createProviderBreaker, type Entry } from '../providers/circuit-breaker/breaker.ts';
import { pause } from '../providers/circuit-breaker/pauses.ts';
import type { Provider, SubmitOutcome } from '../providers/provider.ts';
import { readTask, type Task } from '../tasks/task.ts';
import type { StepResult } from '../tasks/transitions.ts';
import { type SubmitStepDeps, submitTask } from './submit.ts';

const fixture = await openTaskFixture('audited');
const { db } = fixture;

const NOT_SENT: SubmitOutcome = { kind: 'not_sent', cause: 'connection refused' };
const BUSY: SubmitOutcome = { kind: 'rejected', fault: 'busy', cause: 'queue full' };
const NO_CREDIT: SubmitOutcome = { kind: 'rejected', fault: 'operator', cause: 'overdue' };
const UNKNOWN: SubmitOutcome = { kind: 'unknown', cause: 'reset' };
const REFUSED: SubmitOutcome = {
  kind: 'rejected',
  fault: 'request',
  code: 'content_refused',
  message: 'Not that.',
};
const REFUSALS = {
  closed: { kind: 'refused', by: 'outage', seconds: 20 },
  paused: { kind: 'refused', by: 'operator', seconds: 30 },
} as const;

type Reply = SubmitOutcome | 'accepted' | 'closed' | 'paused';

interface Round {
  last: StepResult;
  submits: string[];
}

/** Runs submit steps, as a worker does, until the task waits or moves to another phase. */
async function submitAlong(task: Task, replies: Record<string, Reply>): Promise<Round> {
  const names = Object.keys(replies);
  const submits: string[] = [];
  let draws = 0;
  const providerOf = ({ provider: name }: Task): Provider => {
    const submit: Provider['submit'] = async ({ attemptId }) => {
      submits.push(name);
      const reply = replies[name];
      if (reply === 'accepted') return { kind: 'accepted', jobId: `job-${attemptId}` };
      assert.ok(typeof reply === 'object', `${name} gets no submit`);
      return reply;
    };
    return { ...scriptedProvider({ submit }), name };
  };
  const enter = async (name: string): Promise<Entry> => {
    const reply = replies[name];
    if (reply === 'closed' || reply === 'paused') return REFUSALS[reply];
    return { kind: 'admitted', end: async () => {} };
  };
  const deps: SubmitStepDeps = {
    ...submitDeps(fixture, providerOf(task)),
    providerOf,
    breaker: { enter },
    routing: {
      next(_, tried) {
        const connection = names.find((name) => !tried.includes(name));
        return connection === undefined ? undefined : { connection, reason: `draw ${draws++}` };
      },
      modelIdOf: (_, name) => `model-of-${name}`,
    },
  };
  let last: StepResult = task;
  while (last !== 'postponed' && last.phase === 'submitting') last = await submitTask(deps, last);
  return { last, submits };
}

async function attemptsOf({ id }: Task): Promise<string[]> {
  const rows = await sql<{ provider: string; state: string; provider_model: string }>(
    db,
    'select provider, state, provider_model from attempts where task_id = $1 order by created_at',
    [id],
  );
  return rows.map((row) => `${row.provider} ${row.provider_model} ${row.state}`);
}

test('a task that a connection certainly did not accept goes to the next one, in its own attempt', async () => {
  const { task } = await makeSubmittingTask(fixture, { providerName: 'a' });
  const replies = { a: NOT_SENT, b: BUSY, c: 'closed', d: NO_CREDIT, e: 'accepted' } as const;
  const { last, submits } = await submitAlong(task, replies);
  assert.ok(last !== 'postponed');
  assert.deepEqual([last.phase, last.provider], ['generating', 'e']);
  assert.deepEqual(submits, ['a', 'b', 'd', 'e']);
  assert.deepEqual(await attemptsOf(task), [
    'a model-of-a not_sent',
    'b model-of-b rejected',
    'd model-of-d rejected',
    'e model-of-e accepted',
  ]);
  const select = `select cause from task_history where task_id = $1 and cause ? 'next' order by at`;
  const history = await sql<{ cause: { connection: string; next: string } }>(db, select, [task.id]);
  const moves = history.map(({ cause }) => `${cause.connection} ${cause.next}`);
  assert.deepEqual(moves, ['a b', 'b c', 'c d', 'd e']);
});

test('after an uncertain submit or a refusal of the request, no other connection gets the task', async () => {
  const held = await makeSubmittingTask(fixture, { providerName: 'a' });
  const uncertain = await submitAlong(held.task, { a: BUSY, b: UNKNOWN, c: 'accepted' });
  assert.ok(uncertain.last !== 'postponed');
  assert.deepEqual([uncertain.last.phase, uncertain.last.provider], ['held', 'b']);
  assert.deepEqual(uncertain.submits, ['a', 'b']);
  const { task } = await makeSubmittingTask(fixture, { providerName: 'a' });
  const refused = await submitAlong(task, { a: REFUSED, b: 'accepted' });
  assert.ok(refused.last !== 'postponed');
  assert.deepEqual([refused.last.phase, refused.last.error_code], ['failed', 'content_refused']);
  assert.deepEqual(refused.submits, ['a']);
});

test('a task that no connection accepts fails with its refund; an announced one begins with the first again', async () => {
  const { task } = await makeSubmittingTask(fixture, { providerName: 'a' });
  const { last } = await submitAlong(task, { a: NOT_SENT, b: 'closed', c: BUSY });
  assert.ok(last !== 'postponed');
  assert.equal(last.error_code, 'not_accepted');
  const { paid } = await balances(db, task.account_id);
  assert.deepEqual(paid, { available: PRICE.credits, reserved: 0 });
  for (const end of [BUSY, 'closed'] as const) {
    const announced = await makeSubmittingTask(fixture, {
      providerName: 'a',
      createWaitSeconds: 0,
    });
    const round = await submitAlong(announced.task, { a: NOT_SENT, b: end });
    assert.equal(round.last, 'postponed');
    const { provider, route_tried: tried, phase } = await readTask(db, announced.task.id);
    assert.deepEqual([provider, tried, phase], ['a', null, 'submitting']);
  }
});

test('a pause at the end of a round counts toward the retry time unless all connections are paused', async () => {
  const rounds = [
    { replies: { a: BUSY, b: 'paused' }, end: 'failed' },
    { replies: { a: 'closed', b: 'paused' }, end: 'failed' },
    { replies: { a: 'paused', b: 'paused' }, end: 'submitting' },
  ] as const;
  for (const { replies, end } of rounds) {
    const { task } = await makeSubmittingTask(fixture, {
      providerName: 'a',
      createWaitSeconds: 0,
    });
    await db.transaction(async (tx) => {
      if (replies.a === 'paused') await pause(tx, 'a', 'maintenance');
    });
    assert.equal((await submitAlong(task, replies)).last, 'postponed');
    const hourLater = `update tasks set refused_at = refused_at - interval '1 hour' where id = $1`;
    await sql(db, hourLater, [task.id]);
    await submitAlong(await readTask(db, task.id), replies);
    assert.equal((await readTask(db, task.id)).phase, end, JSON.stringify(replies));
    const count = `select count(*)::int as n from task_history where task_id = $1 and cause ? 'next'`;
    const [moves] = await sql<{ n: number }>(db, count, [task.id]);
    assert.equal(moves?.n, replies.a === BUSY ? 2 : 1, 'a closed connection is recorded once');
  }
});

test('a held task whose sender learns late that it was refused is refunded, not sent elsewhere', async () => {
  for (const reply of [NOT_SENT, BUSY]) {
    const { task } = await makeSubmittingTask(fixture, { providerName: 'a' });
    let isHeld = false;
    const holdsMeanwhile: Provider['submit'] = async () => {
      await sql(db, `update tasks set lease = lease + 1 where id = $1`, [task.id]);
      const attempt = await currentAttempt(db, task.id);
      assert.ok(attempt);
      const find = async () => ({ kind: 'absent', proof: 'weak' }) as const;
      const finder = submitDeps(fixture, { ...scriptedProvider({ find }), name: 'a' });
      await findJobOf(finder, await readTask(db, task.id), attempt);
      isHeld = (await readTask(db, task.id)).phase === 'held';
      return reply;
    };
    const deps = {
      ...submitDeps(fixture, { ...scriptedProvider({ submit: holdsMeanwhile }), name: 'a' }),
      routing: { next: () => ({ connection: 'b' }), modelIdOf: () => undefined },
    };
    await submitTask(deps, task);
    assert.ok(isHeld);
    const { phase, error_code: code, provider } = await readTask(db, task.id);
    assert.deepEqual([phase, code, provider], ['failed', 'not_accepted', 'a']);
  }
});

test('a task of a test key stays with its provider', async () => {
  const { task } = await makeSubmittingTask(fixture, { providerName: 'a' });
  const ofTestKey = { ...task, surface: 'test' };
  const { last, submits } = await submitAlong(ofTestKey, { a: 'closed', b: 'accepted' });
  assert.deepEqual([last, submits], ['postponed', []]);
});

/** Closes a connection for some seconds, or pauses it, in the database. */
async function shut(name: string, seconds: number | 'paused'): Promise<void> {
  if (seconds === 'paused') {
    await db.transaction((tx) => pause(tx, name, 'maintenance'));
  } else {
    const busy = { ...BUSY, retryAfterSeconds: seconds };
    await createProviderBreaker({ db, log: quiet }).observe(name, busy, false);
  }
}

test('after a round without success, the error says when the first connection may be tried again', async () => {
  const rounds = [
    { shuts: { a: 20, b: 300 }, replies: { a: BUSY, b: 'closed' }, soonest: 20 },
    { shuts: { a: 300, b: 20 }, replies: { a: BUSY, b: BUSY }, soonest: 20 },
    { shuts: { a: 300, b: 'paused' }, replies: { a: 'closed', b: 'paused' }, soonest: 30 },
    { shuts: { b: 300 }, replies: { a: NOT_SENT, b: 'closed' }, soonest: undefined },
  ] as const;
  await freezeClock(db, 0);
  for (const { shuts, replies, soonest } of rounds) {
    for (const table of ['provider_outages', 'pauses']) await sql(db, `delete from ${table}`);
    for (const [name, seconds] of Object.entries(shuts)) await shut(name, seconds);
    const { task } = await makeSubmittingTask(fixture, { providerName: 'a' });
    const { last } = await submitAlong(task, replies);
    assert.ok(last !== 'postponed');
    assert.equal(last.error_code, 'not_accepted');
    assert.equal(last.error_details?.retry_after_seconds, soonest);
  }
});
