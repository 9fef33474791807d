import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import {
  ABSENT,
  callBack,
  detailsOf,
  findAgain,
  providerWith,
  report,
} from '../../test/attempt-fixtures.ts';
import { quiet } from '../../test/database.ts';
import {
  claim,
  claimTask,
  makeHeldTask,
  makeSubmittingTask,
  makeTask,
  openTaskFixture,
  PRICE,
  scriptedProvider,
  sql,
  submitDeps,
} from '../../test/task-fixtures.ts';
import { recordEvidence } from '../attempts/evidence.ts';
import { checkOrphans } from '../attempts/orphans.ts';
import type { Log } from '../kernel/log.ts';
import { balances } from '../ledger/ledger.ts';
import { markReadyWith } from '../storage/objects.ts';
import { announce } from '../tasks/create/idempotency-keys.ts';
import { readTask, type Task } from '../tasks/task.ts';
import { move, moveNow, Superseded } from '../tasks/transitions.ts';
import { reportAlive } from '../worker/live-workers.ts';
import { submitTask } from '../worker/submit.ts';
import { reconcile } from './reconcile.ts';

const fixture = await openTaskFixture('audited');
const { db } = fixture;

test('a job that an operator names is adopted once, and the reason is kept', async () => {
  const { held } = await makeHeldTask(fixture);
  const decision = { kind: 'accepted', jobId: 'job-console' } as const;
  const done = await reconcile(db, held.id, decision, 'seen in the console');
  assert.deepEqual(done, { task_id: held.id, phase: 'generating' });
  const { attempts, history } = await detailsOf(fixture, held.id);
  assert.equal(attempts[0]?.outcome_by, 'operator');
  assert.match(JSON.stringify(history.at(-1)), /seen in the console/);
  const again = reconcile(db, held.id, { kind: 'not_accepted' }, 'twice');
  await assert.rejects(again, { name: 'UsageError', message: /is generating, not held/ });
});

test('a decision and the completion of the same task never deadlock', async () => {
  const { task } = await makeSubmittingTask(fixture);
  const accepts = scriptedProvider({
    submit: async () => ({ kind: 'accepted', jobId: 'job-lock' }),
  });
  const generating = await submitTask(submitDeps(fixture, accepts), task);
  assert.ok(generating !== 'postponed');
  const archiving = await moveNow(db, generating, { to: 'archiving' });
  const insert = `insert into stored_objects (id, owner_id, role, media_type, size_bytes)
    values ('obj_lock', $1, 'output', 'video/mp4', 7)`;
  await sql(db, insert, [task.id]);
  const objects = { ids: ['obj_lock'], retentionDays: 30 };
  let deciding: Promise<unknown> | undefined;
  const completing = markReadyWith(db, objects, async (tx) => {
    deciding = reconcile(db, task.id, { kind: 'failed' }, 'lost');
    await Promise.race([deciding, delay(300)]); // it runs until it waits for a lock
    const changes = { outputObjectId: 'obj_lock' };
    return move(tx, archiving, { to: 'completed', changes });
  });
  await assert.rejects(completing, Superseded);
  await deciding;
  assert.equal((await readTask(db, task.id)).phase, 'failed');
});

test('a task that an operator decides was not accepted is refunded; a job that appears later is an orphan', async () => {
  const { held, attempt } = await makeHeldTask(fixture);
  await announce(db, held.id);
  await reconcile(db, held.id, { kind: 'not_accepted' }, 'not in the console');
  const refunded = { available: PRICE.credits, reserved: 0 };
  assert.deepEqual((await balances(db, held.account_id)).paid, refunded);
  await callBack(fixture, attempt.id, report('job-late'));
  await callBack(fixture, attempt.id, report('job-false'));
  const providers = new Map([['scripted', providerWith({ 'job-late': 'working' })]]);
  await checkOrphans({ db, log: quiet, providers });
  const { orphan_jobs: orphans } = await detailsOf(fixture, held.id);
  assert.deepEqual(Object.fromEntries(orphans.map(({ job_id, state }) => [job_id, state])), {
    'job-late': 'confirmed',
    'job-false': 'unknown_there',
  });
  assert.equal((await readTask(db, held.id)).phase, 'failed', 'an ended task never changes');
});

test('suspected orphans of a provider that is not configured do not stop the check of others', async () => {
  const { held, attempt } = await makeHeldTask(fixture);
  await reconcile(db, held.id, { kind: 'not_accepted' }, 'not in the console');
  await sql(
    db,
    `insert into orphan_jobs (provider, job_id, attempt_id, task_id, source, state, found_at)
     select 'gone', 'job-gone-' || n, $1, $2, 'callback', 'suspected', '-infinity'
     from generate_series(1, 30) n`,
    [attempt.id, held.id],
  );
  await callBack(fixture, attempt.id, report('job-asked'));
  const providers = new Map([['scripted', providerWith({ 'job-asked': 'working' })]]);
  const logged: unknown[] = [];
  const log = { ...quiet, error: (fields: unknown) => logged.push(fields) } as unknown as Log;
  for (let round = 0; round < 2; round += 1) {
    await checkOrphans({ db, log, providers });
  }
  const ours = logged.filter((fields) => JSON.stringify(fields).includes(held.id));
  assert.deepEqual(ours, [{ task: held.id, job: 'job-asked', provider: 'scripted' }], 'once');
});

test('after a decision the next worker may go on, and a slow find changes nothing', async () => {
  const { held } = await makeHeldTask(fixture);
  let taken: Task | undefined;
  const slow = scriptedProvider({
    find: async () => {
      await reconcile(db, held.id, { kind: 'accepted', jobId: 'job-known' }, 'seen');
      taken = await claimTask(db, held.id);
      return ABSENT;
    },
  });
  assert.equal((await findAgain(fixture, held, slow)).phase, 'generating');
  assert.equal(taken?.phase, 'generating');
  assert.equal(await claim(db, held.id), undefined, 'the worker that claimed it still has it');
});

test('every task that has not ended can be failed with a reason, and is refunded', async () => {
  const { task: reserved } = await makeTask(fixture);
  const { task: submitting } = await makeSubmittingTask(fixture);
  const { held } = await makeHeldTask(fixture);
  await reconcile(db, held.id, { kind: 'accepted', jobId: `job-${held.id}` }, 'seen');
  const before = ['reserved', 'submitting', 'generating'];
  const codes = ['not_accepted', 'not_accepted', 'output_unavailable'];
  for (const [index, { id, account_id: accountId }] of [reserved, submitting, held].entries()) {
    assert.equal((await readTask(db, id)).phase, before[index]);
    await reconcile(db, id, { kind: 'failed' }, 'the provider has closed');
    assert.equal((await readTask(db, id)).error_code, codes[index]);
    const { paid } = await balances(db, accountId);
    assert.deepEqual(paid, { available: PRICE.credits, reserved: 0 });
    assert.match(JSON.stringify((await detailsOf(fixture, id)).history), /the provider has closed/);
    const again = reconcile(db, id, { kind: 'failed' }, 'twice');
    await assert.rejects(again, {
      message: `${id} is failed, not held: there is nothing to decide`,
    });
  }
});

test('a job that a submit reports after its task was failed by an operator is an orphan', async () => {
  const { task } = await makeSubmittingTask(fixture);
  const accepted = { kind: 'accepted', jobId: 'job-after-the-decision' } as const;
  const decidesMeanwhile = scriptedProvider({
    submit: async () => {
      await reconcile(db, task.id, { kind: 'failed' }, 'the provider hangs');
      return accepted;
    },
  });
  await assert.rejects(submitTask(submitDeps(fixture, decidesMeanwhile), task), Superseded);
  const { orphan_jobs: orphans } = await detailsOf(fixture, task.id);
  const recorded = orphans.map(({ job_id, state }) => [job_id, state]);
  assert.deepEqual(recorded, [['job-after-the-decision', 'confirmed']]);
});

test('a job of another task is refused, whoever named it, and changes nothing', async () => {
  const { held } = await makeHeldTask(fixture);
  const { held: taken } = await makeHeldTask(fixture);
  const mine = { kind: 'accepted', jobId: 'job-mine' } as const;
  await reconcile(db, taken.id, mine, 'seen');
  const message = 'job job-mine belongs to another task already';
  await assert.rejects(reconcile(db, held.id, mine, 'a mistake'), { message });
  const providers = ['scripted', 'scripted-2'];
  await reportAlive(db, { id: 'worker-of-two', providers, ingestSlots: 1 });
  const moved = `update attempts set provider = 'scripted-2' where task_id = $1`;
  await sql(db, moved, [taken.id]);
  await assert.rejects(reconcile(db, held.id, mine, 'a shared account'), { message });
  const called = await makeHeldTask(fixture);
  await callBack(fixture, called.attempt.id, report('job-of-called'));
  const refunded = await makeHeldTask(fixture);
  await callBack(fixture, refunded.attempt.id, report('job-of-orphan', true));
  await reconcile(db, refunded.held.id, { kind: 'failed' }, 'gave up');
  const late = await makeHeldTask(fixture);
  await recordEvidence(db, late.attempt.id, 'sender', {
    job: 'job-of-late',
    verified: true,
  });
  const owners = { called, orphan: refunded, late };
  for (const [name, other] of Object.entries(owners)) {
    const jobId = `job-of-${name}`;
    await assert.rejects(reconcile(db, held.id, { kind: 'accepted', jobId }, 'seen'), {
      name: 'UsageError',
      message: new RegExp(`${jobId} was named for ${other.held.id}, another task`),
    });
  }
  assert.equal((await readTask(db, held.id)).phase, 'held');
  const own = { kind: 'accepted', jobId: 'job-of-called' } as const;
  const done = await reconcile(db, called.held.id, own, 'its own callback');
  assert.equal(done.phase, 'generating');
});
