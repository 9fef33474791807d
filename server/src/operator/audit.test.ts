import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeCustomer } from '../../test/customer.ts';
import {
  makeTask,
  openTaskFixture,
  PRICE,
  recordAccepted,
  sql,
  type TaskFixture,
} from '../../test/task-fixtures.ts';
import { taskMaker } from '../../test/website/own-tasks.ts';
import type { Database } from '../database/database.ts';
import type { Storage } from '../storage/storage.ts';
import { audit } from './audit.ts';

/** A task that has ended, of an account of its own. @returns its id */
async function ended({ db, deps }: TaskFixture, how: 'completed' | 'failed'): Promise<string> {
  const { accountId } = await makeCustomer(db, PRICE.credits);
  const storage = { put: async () => {} } as unknown as Storage;
  const make = taskMaker({ ...deps, storage });
  return make(accountId, { ended: how === 'failed' ? 'provider_failed' : how });
}

const NOT_RESERVED = 'reserved, but its reservations do not match its credits';
const NO_KEY = 'its Idempotency-Key is missing or not bound to it';

/**
 * Damage that only manual changes can do. `of`: the task that the audit names; `said`: what it says
 * of it; `damage`: SQL, with the id of the task as $1; `unlock`: drops a constraint in its way.
 */
const DAMAGES: [title: string, of: string, said: string, damage: string, unlock?: string][] = [
  [
    'a task is missing and its credits are still reserved',
    'live',
    'credits are reserved, but the task is missing',
    'delete from tasks where id = $1',
  ],
  [
    'a task has no reservation',
    'task_free',
    'failed, but its reservations do not match its credits',
    `insert into tasks select (jsonb_populate_record(t, '{"id": "task_free", "phase": "failed",
       "error_code": "not_accepted", "due_at": null}')).* from tasks t where id = $1`,
  ],
  [
    'a task’s price differs from its reservation',
    'live',
    NOT_RESERVED,
    `update tasks set credits = 300, request = request || '{"duration": 6}' where id = $1`,
  ],
  [
    'a task’s promotional credits differ from those that are reserved',
    'live',
    NOT_RESERVED,
    'update tasks set promotional_credits = 10 where id = $1',
  ],
  [
    'a task of a test key has paid credits reserved',
    'live',
    NOT_RESERVED,
    `with key as (update idempotency_keys set surface = 'test' where task_id = $1)
     update tasks set surface = 'test' where id = $1`,
  ],
  [
    'a task has test credits reserved by a reference of its own',
    'live',
    NOT_RESERVED,
    `with opened as (insert into ledger_balances (account_id, kind, granted, reserved)
       select account_id, 'test', 250, 250 from tasks where id = $1)
     insert into ledger_transfers (account_id, kind, source, target, credits, reason, reference,
       available_after, reserved_after)
     select account_id, 'test', v.* from tasks, (values
       ('granted', 'available', 250, 'grant', 'grant:test', 250, 0),
       ('available', 'reserved', 250, 'reserve', 'reserve:' || $1 || ':test', 0, 250)) v
     where id = $1`,
  ],
  [
    'a task’s credits differ from its price',
    'completed',
    'it costs 250 credits, but 300 by version 1 of the price of video-2.0-fast',
    `update tasks set request = request || '{"duration": 6}' where id = $1`,
  ],
  [
    'a task has a price version that its model never had',
    'failed',
    'it costs 250 credits, but none by version 2 of the price of video-2.0-fast',
    'update tasks set price_version = 2 where id = $1',
  ],
  [
    'a task ended without capture or refund',
    'live',
    'failed, but the settlement of its credits is missing',
    `update tasks set phase = 'failed', error_code = 'not_accepted', due_at = null where id = $1`,
  ],
  [
    'a completed task has no accepted attempt',
    'completed',
    'completed without an accepted attempt',
    'delete from attempts where task_id = $1',
  ],
  [
    'a live task was refunded',
    'failed',
    'submitting, but the settlement of its credits is refund',
    `update tasks set phase = 'submitting', error_code = null, due_at = now() where id = $1`,
  ],
  [
    'a completed task was refunded',
    'failed',
    'completed, but the settlement of its credits is refund',
    `update tasks set phase = 'completed', error_code = null, output_object_id =
       (select max(output_object_id) from tasks) where id = $1`,
  ],
  [
    'a live task has no due time',
    'live',
    'reserved without a due time',
    'update tasks set due_at = null where id = $1',
    'alter table tasks drop constraint ended_tasks_have_no_work',
  ],
  [
    'the output object of a completed task is missing',
    'completed',
    'completed, its output is missing',
    'delete from stored_objects where owner_id = $1',
  ],
  [
    'the output of a completed task is only half written',
    'completed',
    'completed, its output is writing',
    `update stored_objects set state = 'writing' where owner_id = $1`,
  ],
  [
    'an output was deleted before the end of its retention',
    'completed',
    'completed, its output is deleted',
    `update stored_objects set state = 'deleted' where owner_id = $1`,
  ],
  [
    'an output that has no end of retention is marked for deletion',
    'completed',
    'completed, its output is deleting',
    `update stored_objects set state = 'deleting', delete_after = null where owner_id = $1`,
  ],
  [
    'a task has two provider jobs',
    'live',
    '2 provider jobs',
    `insert into attempts (id, task_id, provider, state, send_before, job_id)
     select 'att_' || n, $1, 'scripted', 'accepted', now(), 'job_' || n
     from generate_series(1, 2) n`,
    'drop index one_live_attempt',
  ],
  [
    'a task was not tried again after its replaced attempt',
    'failed',
    'tried again after no connection, its replaced attempts were at scripted',
    `update attempts set state = 'replaced' where task_id = $1`,
  ],
  [
    'the key of a task is missing',
    'failed',
    NO_KEY,
    'delete from idempotency_keys where task_id = $1',
  ],
  [
    'the key of a live task was released',
    'live',
    NO_KEY,
    'update idempotency_keys set task_id = null where task_id = $1',
  ],
];

test('the audit finds each damage, and nothing else', async (t) => {
  const fixture = await openTaskFixture();
  const { db } = fixture;
  const { task: live } = await makeTask(fixture);
  const completed = await ended(fixture, 'completed');
  const failed = await ended(fixture, 'failed');
  await recordAccepted(db, failed);
  const ids: Record<string, string> = { live: live.id, completed, failed };
  assert.deepEqual(await audit(db), { ok: true, problems: [] });
  for (const [title, of, said, damage, unlock = 'select'] of DAMAGES) {
    await t.test(title, async () => {
      const problems = await problemsAfter(db, unlock, [damage, ids[of] ?? live.id]);
      assert.deepEqual(problems, [`${ids[of] ?? of}: ${said}`]);
    });
  }
  assert.deepEqual(await audit(db), { ok: true, problems: [] }, 'each damage was undone');
});

/** What the audit finds in a transaction that does the damage and is rolled back. */
async function problemsAfter(
  db: Database,
  unlock: string,
  [damage, ...values]: [string, string],
): Promise<string[]> {
  let problems: string[] = [];
  const undo = new Error('undo');
  const trial = db.transaction(async (tx) => {
    await sql(tx, 'set local session_replication_role = replica'); // no foreign keys
    await sql(tx, unlock);
    await sql(tx, damage, values);
    ({ problems } = await audit({ ...db, snapshot: (work) => work(tx) }));
    throw undo;
  });
  await assert.rejects(trial, undo);
  return problems;
}

test('the audit accepts an output that was deleted after its retention', async () => {
  const fixture = await openTaskFixture();
  const id = await ended(fixture, 'completed');
  await fixture.database.setClock(8 * 86_400);
  for (const state of ['deleting', 'deleted']) {
    await sql(fixture.db, 'update stored_objects set state = $2 where owner_id = $1', [id, state]);
    assert.deepEqual(await audit(fixture.db), { ok: true, problems: [] });
  }
});

test('the audit finds a task of a test key that was given to a real provider', async () => {
  const fixture = await openTaskFixture();
  const id = await ended(fixture, 'completed');
  await sql(fixture.db, `update tasks set surface = 'test' where id = $1`, [id]);
  await sql(fixture.db, `update attempts set provider = 'ark' where task_id = $1`, [id]);
  const { problems } = await audit(fixture.db);
  assert.ok(problems.includes(`${id}: a task of a test key, but ark was given it`));
  assert.ok(problems.includes(`${id}: completed, but its reservations do not match its credits`));
});

const SMALL = { balances: 1, chunk: 2, transfers: 3, lots: 1, tasks: 1, orders: 1 };

test('the audit finds nothing while tasks are created and end between its snapshots', async () => {
  const fixture = await openTaskFixture();
  const { db } = fixture;
  for (let n = 0; n < 3; n += 1) await makeTask(fixture);
  let [snapshots, changes] = [0, 0];
  const snapshot: Database['snapshot'] = async (work) => {
    snapshots += 1;
    if (changes < 8) {
      changes += 1;
      await ended(fixture, changes % 2 === 0 ? 'completed' : 'failed');
    }
    return db.snapshot(work);
  };
  assert.deepEqual(await audit({ snapshot }, undefined, SMALL), { ok: true, problems: [] });
  assert.equal(changes, 8);
  assert.ok(snapshots > 20, `${snapshots} snapshots`);
});

test('the audit keeps a thousand problems, counts all and reports each at once', async () => {
  const fixture = await openTaskFixture();
  const { db } = fixture;
  const { task } = await makeTask(fixture);
  const insert = `insert into idempotency_keys (account_id, surface, key, fingerprint)
    select $1, 'api', 'key' || n, '' from generate_series(1, 1500) n`;
  await sql(db, insert, [task.account_id]);
  await sql(
    db,
    `insert into tasks (id, account_id, surface, idempotency_key, phase, request, seed, credits,
       price_version, provider, wait_until, due_at)
     select 'task_' || n, $1, 'api', 'key' || n, 'reserved',
       '{"model": "video-2.0-mini", "resolution": "480p", "duration": 4}', 1, 60, 1, 'local', now(), now()
     from generate_series(1, 1500) n`,
    [task.account_id],
  );
  let reported = 0;
  const { problems, ...counts } = await audit(db, () => {
    reported += 1;
  });
  assert.deepEqual([counts, problems.length, reported], [{ ok: false, found: 3000 }, 1000, 3000]);
});
