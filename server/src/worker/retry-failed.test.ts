import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callBack, detailsOf, report } from '../../test/attempt-fixtures.ts';
import {
  makeSubmittingTask,
  openTaskFixture,
  PRICE,
  scriptedProvider,
  sql,
  submitDeps,
  untilBlocked,
} from '../../test/task-fixtures.ts';
import { beginCancel } from '../attempts/cancel.ts';
import { balances } from '../ledger/ledger.ts';
import type { JobStatus } from '../providers/provider.ts';
import { readTask, type Task } from '../tasks/task.ts';
import { type GenerateDeps, generate } from './generate.ts';
import { submitTask } from './submit.ts';

const fixture = await openTaskFixture('audited');
const { db } = fixture;

type Failure = Extract<JobStatus, { kind: 'failed' }>;

const BROKEN: Failure = {
  kind: 'failed',
  code: 'provider_failed',
  message: 'It broke.',
  billed: false,
  isProviderFault: true,
};

/** The first of these connections that was not tried is next. */
function routingOver(...names: string[]) {
  return {
    next(_: unknown, tried: readonly string[]) {
      const connection = names.find((name) => !tried.includes(name));
      return connection === undefined ? undefined : { connection };
    },
    modelIdOf: () => undefined,
    retriesFailed: () => true,
  };
}

const ROUTE = routingOver('scripted', 'b', 'c');

/** Submits a task, whose connection accepts it. */
async function acceptJob(task: Task): Promise<Task> {
  const provider = scriptedProvider({
    submit: async ({ attemptId }) => ({ kind: 'accepted', jobId: `job-${attemptId}` }),
  });
  const deps = { ...submitDeps(fixture, { ...provider, name: task.provider }), routing: ROUTE };
  const last = await submitTask(deps, task);
  assert.ok(last !== 'postponed' && last.phase === 'generating');
  return last;
}

async function generatingTask(): Promise<Task> {
  return acceptJob((await makeSubmittingTask(fixture)).task);
}

/** Reads the job of a task: it has failed. */
async function failJob(
  task: Task,
  failure: Failure = BROKEN,
  routing: GenerateDeps['routing'] = ROUTE,
): Promise<Task> {
  const provider = scriptedProvider({ read: async () => failure });
  const seconds = { pollMinSeconds: 2, pollMaxSeconds: 15, reconcileSeconds: 45 };
  const last = await generate({ db, providerOf: () => provider, routing, ...seconds }, task);
  assert.ok(last !== 'postponed');
  return last;
}

/** What happened to the task before the job is read; may replace the task. */
type Before = (task: Task) => Promise<Task | undefined>;

const change =
  (text: string): Before =>
  async ({ id }) => {
    await sql(db, text, [id]);
    return readTask(db, id);
  };

const STAYS: {
  when: string;
  failure?: Failure;
  routing?: GenerateDeps['routing'];
  before?: Before;
}[] = [
  { when: 'it was billed', failure: { ...BROKEN, billed: true } },
  { when: 'it may have been billed', failure: { ...BROKEN, billed: null } },
  { when: 'it may not be the provider’s fault', failure: { ...BROKEN, isProviderFault: false } },
  { when: 'the route does not ask for it', routing: { ...ROUTE, retriesFailed: () => false } },
  { when: 'there is no other connection', routing: routingOver('scripted') },
  {
    when: 'a find adopted the job',
    before: change(`update attempts set outcome_by = 'find' where task_id = $1`),
  },
  {
    when: 'the task was held for its outcome',
    before: change('update tasks set outcome_holds = 1 where id = $1'),
  },
  {
    when: 'the database may have lost a second job',
    before: change(
      `insert into recoveries (cause, began_at, ended_at)
         select $1, clock_now() + interval '1 hour', clock_now() + interval '1 hour'`,
    ),
  },
];

test('a failure is final unless it is certainly unbilled, the provider’s own fault and about one known job', async () => {
  for (const { when, failure, routing, before } of STAYS) {
    const task = await generatingTask();
    const last = await failJob((await before?.(task)) ?? task, failure, routing);
    await sql(db, 'delete from recoveries');
    assert.deepEqual([last.phase, last.error_code], ['failed', 'provider_failed'], when);
    assert.equal((await balances(db, task.account_id)).paid.available, PRICE.credits, when);
  }
});

test('an unbilled failure of the provider moves the task on once, with its reservation and without a cost', async () => {
  const made = await generatingTask();
  const earlier = `update tasks set accepted_at = accepted_at - interval '1 hour' where id = $1`;
  await sql(db, earlier, [made.id]);
  const first = await readTask(db, made.id);
  const cost = { amount: '0.05', currency: 'usd' };
  const moved = await failJob(first, { ...BROKEN, cost });
  const path = [moved.phase, moved.provider, moved.retried_from, moved.route_tried];
  assert.deepEqual(path, ['submitting', 'b', 'scripted', null]);
  assert.notEqual(moved.announced_at, null, 'its key is never released');
  const reserved = { available: 0, reserved: PRICE.credits };
  assert.deepEqual((await balances(db, first.account_id)).paid, reserved);

  const second = await acceptJob(moved);
  assert.ok((second.accepted_seconds ?? 3600) < 3600, 'the limit of its job counts anew');
  const { attempts, history, job_cost } = await detailsOf(fixture, first.id);
  assert.deepEqual(
    attempts.map(({ provider, state }) => [provider, state]),
    [
      ['scripted', 'replaced'],
      ['b', 'accepted'],
    ],
  );
  assert.equal(job_cost, null);
  const phases = history.map(({ phase }) => phase).slice(-3);
  assert.deepEqual(phases, ['generating', 'submitting', 'generating']);

  const last = await failJob(second);
  assert.deepEqual([last.phase, last.error_code], ['failed', 'provider_failed']);
  const refunded = { available: PRICE.credits, reserved: 0 };
  assert.deepEqual((await balances(db, first.account_id)).paid, refunded);
});

test('a connection whose job failed never gets the task again, not even in a later round', async () => {
  const moved = await failJob(await generatingTask());
  const asked: string[] = [];
  const providerOf = ({ provider: name }: Task) => ({
    ...scriptedProvider({
      async submit() {
        asked.push(name);
        return { kind: 'not_sent', cause: 'refused' };
      },
    }),
    name,
  });
  const deps = { ...submitDeps(fixture, providerOf(moved)), providerOf, routing: ROUTE };
  for (let round = 0; round < 2; round += 1) {
    let last = await submitTask(deps, await readTask(db, moved.id));
    while (last !== 'postponed') last = await submitTask(deps, last);
  }
  assert.deepEqual(asked, ['b', 'c', 'b', 'c']);
});

test('what the first job says later changes nothing: a read of it is superseded, a callback is no orphan', async () => {
  const first = await generatingTask();
  const slow = { ...first };
  const second = await acceptJob(await failJob(first));
  await sql(db, 'update tasks set lease = lease + 1 where id = $1', [first.id]);
  await assert.rejects(failJob(slow), { name: 'Superseded' });
  const before = await detailsOf(fixture, first.id);
  const [attempt] = before.attempts;
  assert.ok(attempt?.job_id);
  await callBack(fixture, attempt.id, report(attempt.job_id, true));
  const { orphan_jobs: orphans, attempts, phase } = await detailsOf(fixture, first.id);
  assert.deepEqual([orphans, phase], [[], 'generating']);
  assert.equal(attempts[1]?.job_id, `job-${attempts[1]?.id}`);
  assert.equal(second.retried_from, 'scripted');
});

test('a cancel beats the second try, whichever comes first', async () => {
  const options = { cause: { cancelled_by: 'customer' }, alsoHeldOutcome: false } as const;
  const asked = await generatingTask();
  let failing: Promise<Task> | undefined;
  await db.transaction(async (tx) => {
    await beginCancel(tx, asked.id, options);
    failing = failJob(asked);
    await untilBlocked(db);
  });
  assert.equal((await failing)?.error_code, 'cancelled');
  const moved = await failJob(await generatingTask());
  const { cancel } = await db.transaction((tx) => beginCancel(tx, moved.id, options));
  assert.equal(cancel, 'done');
  await assert.rejects(acceptJob(moved), { name: 'Superseded' });
  assert.equal((await readTask(db, moved.id)).error_code, 'cancelled');
});

test('the database lets a task have one replaced attempt and one live one', async () => {
  const task = await acceptJob(await failJob(await generatingTask()));
  const replace = `update attempts set state = 'replaced' where task_id = $1`;
  const replaceAgain = sql(db, replace, [task.id]);
  await assert.rejects(replaceAgain, { constraint: 'one_replaced_attempt' });
});
