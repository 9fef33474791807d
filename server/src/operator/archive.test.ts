import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openTestApp, type TestApp, type TestCustomer } from '../../test/app.ts';
import { createTask } from '../../test/create-task.ts';
import { quiet } from '../../test/database.ts';
import { assertError } from '../../test/envelope.ts';
import {
  bindingFor,
  claimTask,
  makeHeldTask,
  recordAccepted,
  requestFor,
  sql,
  type TaskFixture,
} from '../../test/task-fixtures.ts';
import { disableAccount } from '../accounts/accounts.ts';
import type { Database } from '../database/database.ts';
import { takenJobs } from '../tasks/attempts/attempts.ts';
import { receiveCallback } from '../tasks/attempts/callback.ts';
import { listArchived, listTasks, showTask } from '../tasks/listing/task-listing.ts';
import { moveNow } from '../tasks/transitions.ts';
import { listActions } from './actions.ts';
import { archiveTasks } from './archive.ts';
import { audit } from './audit.ts';
import { eraseAccount } from './erasure/erase.ts';
import { reconcile } from './reconcile.ts';
import { takeDown } from './takedown.ts';

const ACTION = { command: 'tasks archive', actor: 'ada', reason: 'the disk is half full' };
const PROMPT = 'A lighthouse of Ada';

let api: TestApp;
let db: Database;

before(async () => {
  api = await openTestApp();
  db = api.database.db;
});
after(async () => {
  const books = await audit(db);
  await api.close();
  assert.deepEqual(books, { ok: true, problems: [] });
});

const archive = (batch?: number, days = 30) => archiveTasks(db, ACTION, { days }, batch);

/** Completes a task, or fails it after its acceptance; its files are deleted. */
async function end(taskId: string, phase: 'completed' | 'failed' = 'completed') {
  await sql(
    db,
    `insert into stored_objects (id, owner_id, role, state, media_type, delete_after)
     values ('obj_' || $1, $1, 'output', 'deleted', 'video/mp4', clock_now()),
       ('in_' || $1, $1, 'input', 'deleted', 'image/png', null)`,
    [taskId],
  );
  await recordAccepted(db, taskId);
  await sql(
    db,
    `insert into evidence (attempt_id, source, finding, digest) values ('att_' || $1, 'callback',
       jsonb_build_object('job', 'job-' || $1::text, 'verified', true), 'digest')`,
    [taskId],
  );
  let task = await claimTask(db, taskId);
  for (const to of ['submitting', 'generating', 'archiving'] as const) {
    task = await moveNow(db, task, { to, cause: { told: PROMPT } });
  }
  const error = { code: 'provider_failed', message: 'No.' } as const;
  const changes = phase === 'completed' ? { outputObjectId: `obj_${taskId}` } : { error };
  await moveNow(db, task, { to: phase, changes });
}

/** Sends a create; the task ends at once and `days` ago. */
async function makeEnded(customer: TestCustomer, phase: 'completed' | 'failed' = 'completed') {
  const key = crypto.randomUUID();
  const { body } = await customer.create({ prompt: PROMPT }, { 'idempotency-key': key });
  await end(body.id, phase);
  return { id: String(body.id), key };
}

async function makeOld(taskIds: string[], days = 40): Promise<void> {
  await sql(
    db,
    `update tasks set created_at = created_at - $2 * interval '1 day',
       updated_at = updated_at - $2 * interval '1 day' where id = any($1)`,
    [taskIds, days],
  );
}

async function read(customer: TestCustomer, id: string) {
  const response = await customer.send({ url: `/api/v1/tasks/${id}` });
  return { status: response.status, body: response.body };
}

/** A delivery link is made afresh at each read. */
function withoutSignature(body: { output: { video_url: string } | null }) {
  return { ...body, output: body.output?.video_url.split('?')[0] ?? null };
}

const TABLES = ['tasks', 'objects', 'attempts', 'task_history', 'evidence'];

async function rowsOf(taskId: string): Promise<string[]> {
  const found: string[] = [];
  for (const table of TABLES) {
    const rows = await sql(db, `select from ${table} t where t::text like '%' || $1 || '%'`, [
      taskId,
    ]);
    if (rows.length > 0) found.push(table);
  }
  return found;
}

test('an archived task reads as before, and its Idempotency-Key returns it and starts no other', async () => {
  const customer = await api.customer(10_000);
  const other = await api.customer(0);
  for (const phase of ['completed', 'failed'] as const) {
    const { id, key } = await makeEnded(customer, phase);
    await makeOld([id]);
    const earlier = await read(customer, id);
    assert.equal(earlier.body.status, phase);
    const shown = await showTask(db, id);
    assert.deepEqual(await rowsOf(id), TABLES);
    assert.equal((await archive()).archived, 1);
    assert.deepEqual(await rowsOf(id), []);

    const { status, body } = await read(customer, id);
    assert.equal(status, 200);
    assert.deepEqual(withoutSignature(body), withoutSignature(earlier.body));
    const archived = { archived_at: null, taken_down_at: null, erased_at: null };
    assert.deepEqual({ ...(await showTask(db, id)), ...archived }, { ...shown, ...archived });
    assertError(await other.send({ url: `/api/v1/tasks/${id}` }), 'not_found');

    const retries = Array.from({ length: 6 }, () =>
      customer.create({ prompt: PROMPT }, { 'idempotency-key': key }),
    );
    for (const retried of await Promise.all(retries)) {
      assert.equal(retried.status, 200);
      assert.deepEqual(withoutSignature(retried.body), withoutSignature(earlier.body));
    }
    const changed = await customer.create({ prompt: 'Another' }, { 'idempotency-key': key });
    assertError(changed, 'idempotency_conflict');
    if (phase === 'completed') {
      const link = new URL(body.output.video_url);
      assertError(await customer.send({ url: link.pathname + link.search }), 'output_deleted');
    }
  }
  const [row] = await listArchived(db, customer.accountId, { limit: 1, phase: 'completed' });
  assert.equal(row?.model, 'video-2.0-fast');
  assert.equal((await listTasks(db, { accountId: customer.accountId, limit: 9 })).length, 0);
});

test('a create that runs while its task is archived starts no other', async () => {
  const customer = await api.customer(10_000);
  const { id, key } = await makeEnded(customer);
  await makeOld([id]);
  const binding = { ...bindingFor(customer.accountId, key, PROMPT) };
  const [moved, ...created] = await Promise.all([
    archive(),
    ...Array.from({ length: 8 }, () => createTask(api.deps, requestFor(binding))),
  ]);
  assert.equal(moved.archived, 1);
  assert.deepEqual(
    created.map(({ kind, task }) => [kind, task.id]),
    Array.from({ length: 8 }, () => ['replayed', id]),
  );
});

test('tasks stay that are live, young, have files, or whose records may be needed', async () => {
  const customer = await api.customer(10_000);
  const live = await customer.create({ prompt: PROMPT });
  const made = Array.from({ length: 7 }, () => makeEnded(customer, 'completed'));
  const [young, stored, orphan, billed, decided, named, plain] = await Promise.all(made);
  const old = [stored, orphan, billed, decided, named, plain].map((task) => task?.id ?? '');
  await makeOld([...old, live.body.id]);
  const changes: Array<[string, string | undefined]> = [
    [`update stored_objects set state = 'ready' where id = 'obj_' || $1`, stored?.id],
    [
      `insert into orphan_jobs (provider, job_id, attempt_id, task_id, source, state)
       select provider, 'second', id, task_id, 'sender', 'confirmed' from attempts
       where task_id = $1`,
      orphan?.id,
    ],
    [`update tasks set provider_billed = true where id = $1`, billed?.id],
    [`update attempts set outcome_by = 'operator' where task_id = $1`, decided?.id],
    [
      `insert into evidence (attempt_id, source, finding, digest)
       values ('att_' || $1, 'sender', '{"job": "third"}', 'third')`,
      named?.id,
    ],
  ];
  for (const [text, id] of changes) await sql(db, text, [id]);
  const { before: cutoff, ...result } = await archive();
  assert.equal(new Date(cutoff).toISOString(), cutoff);
  const kept = { kept_with_files: 1, kept_with_records: 4 };
  assert.deepEqual(result, { archived: 1, ...kept, changed: true });
  const left = await listTasks(db, { accountId: customer.accountId, limit: 99 });
  assert.equal(left.length, 7);
  assert.ok(left.some(({ id }) => id === young?.id));
  assert.ok(!left.some(({ id }) => id === plain?.id));
  assert.equal((await archive()).changed, false);
  await sql(db, `update stored_objects set state = 'deleted' where id = 'obj_' || $1`, [
    stored?.id,
  ]);
  assert.equal((await archive()).archived, 1);
});

test('a run that ends between two batches is continued by the next one', async () => {
  const customer = await api.customer(10_000);
  const tasks = [];
  for (let n = 0; n < 5; n += 1) tasks.push(await makeEnded(customer));
  const ids = tasks.map(({ id }) => id);
  await makeOld(ids);
  const actions = async () => (await listActions(db, { target: 'tasks', limit: 99 })).length;
  const recorded = await actions();
  let archived = 0;
  const dying = {
    ...db,
    transaction: (async (work) => {
      return db.transaction(async (tx) => {
        const result = await work(tx);
        if (archived > 0) throw new Error('killed before the commit');
        archived += (result as { archived: number }).archived;
        return result;
      });
    }) as Database['transaction'],
  };
  await assert.rejects(archiveTasks(dying, ACTION, { days: 30 }, 2), /killed before/);
  const [half] = await sql<{ tasks: number }>(
    db,
    'select count(*)::int as tasks from archived_tasks where id = any($1)',
    [ids],
  );
  assert.ok(half && half.tasks > 0 && half.tasks < 5, `${half?.tasks} of 5 are archived`);
  for (const id of ids) assert.equal((await read(customer, id)).status, 200);
  assert.equal((await archive(2)).archived, 5 - half.tasks);
  for (const id of ids) assert.equal((await read(customer, id)).status, 200);
  assert.equal(await actions(), recorded + 2, 'each run is recorded once');
});

test('runs, reads, creates and an erasure at once: no task is lost, and no text is left', async () => {
  const secret = 'face-of-ada';
  const customers = await Promise.all([api.customer(10_000), api.customer(10_000)]);
  const [ada, ben] = customers;
  const made = customers.flatMap((customer) =>
    Array.from({ length: 24 }, async () => ({ customer, ...(await makeEnded(customer)) })),
  );
  const tasks = await Promise.all(made);
  const ids = tasks.map(({ id }) => id);
  await makeOld(ids);
  const ofAda = tasks.filter(({ customer }) => customer === ada).map(({ id }) => id);
  await sql(
    db,
    `update tasks set request = request || jsonb_build_object('prompt', $2::text),
       error_details = jsonb_build_object('at', $2::text) where id = any($1)`,
    [ofAda, secret],
  );
  const causes = `update task_history set cause = jsonb_build_object('cause', $2::text)
    where task_id = any($1)`;
  await sql(db, causes, [ofAda, secret]);
  const findings = `update evidence set finding = finding || jsonb_build_object('cause', $2::text)
    where attempt_id = any(array(select id from attempts where task_id = any($1)))`;
  await sql(db, findings, [ofAda, secret]);
  assert.ok(ada && ben);
  await archiveTasks(db, ACTION, { days: 39 }, 7); // some are archived before
  await disableAccount(db, ada.accountId);
  await sql(db, `update accounts set disabled_at = disabled_at - interval '1 hour' where id = $1`, [
    ada.accountId,
  ]);
  const reads = async () => {
    for (const { id } of tasks.filter(({ customer }) => customer === ben)) {
      assert.equal((await read(ben, id)).status, 200);
    }
  };
  await Promise.all([
    archive(3),
    archive(5),
    reads(),
    eraseAccount(db, { ...ACTION, command: 'accounts erase' }, ada.accountId),
  ]);
  for (const table of [...TABLES, 'archived_tasks']) {
    const found = `select from ${table} t where t::text like '%' || $1 || '%'`;
    assert.equal((await sql(db, found, [secret])).length, 0, table);
  }
  const archived = await sql(db, 'select from archived_tasks where id = any($1)', [ids]);
  assert.equal(archived.length, ids.length);
  assert.deepEqual(await audit(db), { ok: true, problems: [] });
});

test('the job of an archived task belongs to no other attempt', async () => {
  const fixture = {
    database: api.database,
    db,
    wakeUps: api.deps.wakeUps,
    deps: { ...api.deps, providerName: 'local', createWaitSeconds: 20 },
  } as unknown as TaskFixture;
  const customer = await api.customer(10_000);
  const { id } = await makeEnded(customer);
  await makeOld([id]);
  await archive();
  const job = `job-${id}`;
  assert.deepEqual(await takenJobs(db, 'local', [job, 'job-new']), new Set([job]));
  const { held, attempt } = await makeHeldTask(fixture);
  const decision = { kind: 'accepted', jobId: job } as const;
  await assert.rejects(reconcile(db, held.id, decision, 'seen'), /was named for .*another task/);
  await assert.rejects(reconcile(db, id, { kind: 'failed' }, 'x'), /is completed and archived/);

  // The job's attempt is archived by a transaction that commits after the update has begun.
  const accept = `update attempts set state = 'accepted', job_id = $2 where id = $1`;
  const second = await makeEnded(customer);
  let accepted: Promise<unknown> = Promise.resolve();
  await db.transaction(async (tx) => {
    await sql(
      tx,
      `insert into archived_tasks (id, account_id, phase, credits, provider, job_id, record)
       select 'task_moved', account_id, phase, credits, provider, 'job-' || id, '{}' from tasks
       where id = $1`,
      [second.id],
    );
    await sql(tx, `update attempts set job_id = 'moved' where task_id = $1`, [second.id]);
    accepted = sql(db, accept, [attempt.id, `job-${second.id}`]);
    accepted.catch(() => {});
    await sql(tx, 'select pg_sleep(0.2)');
  });
  await assert.rejects(accepted, { constraint: 'one_attempt_per_job' });
  await sql(db, `delete from archived_tasks where id = 'task_moved'`);
  await reconcile(db, held.id, { kind: 'not_accepted' }, 'no such job');
});

test('a callback for an archived task is at no path, also if it came while it was archived', async () => {
  const customer = await api.customer(10_000);
  const { id } = await makeEnded(customer);
  const incoming = { provider: 'local', segment: `att_${id}`, body: Buffer.from(''), headers: {} };
  const links = { attemptOf: () => `att_${id}` };
  const readCallback = async () => {
    assert.equal((await archive()).archived, 1); // after the attempt was found
    return { kind: 'report', jobId: `job-${id}`, verified: true } as const;
  };
  const providers = new Map([['local', { readCallback }]]) as never;
  const wakeUps = { send: () => assert.fail('no task became due') };
  const deps = { db, log: quiet, links, providers, wakeUps };
  await makeOld([id]);
  assert.equal(await receiveCallback(deps, incoming), 'no_such_path');
  assert.equal(await receiveCallback(deps, incoming), 'no_such_path');
});

test('a takedown of an archived video is recorded once', async () => {
  const { id } = await makeEnded(await api.customer(10_000));
  await makeOld([id]);
  await archive();
  const action = { ...ACTION, command: 'objects takedown' };
  assert.equal((await takeDown(db, action, id)).changed, true);
  assert.equal((await takeDown(db, action, `obj_${id}`)).changed, false);
});

test('the audit finds a changed, a doubled and a missing archived task', async () => {
  const customer = await api.customer(10_000);
  const tasks = await Promise.all(Array.from({ length: 4 }, () => makeEnded(customer)));
  const [changed, doubled, missing, unbound] = tasks.map(({ id }) => id);
  await makeOld(tasks.map(({ id }) => id));
  await archive();
  const damages: Array<[string, unknown[], RegExp]> = [
    ['update archived_tasks set credits = 1 where id = $1', [changed], /without credits reserved/],
    [
      `insert into tasks select (jsonb_populate_record(null::tasks, record->'task')).*
       from archived_tasks where id = $1`,
      [doubled],
      /archived, and still among the tasks/,
    ],
    [
      `delete from archived_tasks where id = $1`,
      [missing],
      /credits are reserved, but the task is missing/,
    ],
    [
      `update idempotency_keys set task_id = null where task_id = $1`,
      [unbound],
      /Idempotency-Key is missing/,
    ],
    [
      `update archived_tasks set record = record || '{"attempts": []}' where id = $1`,
      [unbound],
      /no accepted attempt/,
    ],
  ];
  for (const [text, values, expected] of damages) {
    const kept = new Error('rolled back');
    const damaging = db.transaction(async (tx) => {
      await sql(tx, text, values);
      const { problems } = await audit({ snapshot: (work) => work(tx) });
      assert.ok(
        problems.some((problem) => problem.includes(String(values[0])) && expected.test(problem)),
        `${expected} is not in ${problems.join('; ')}`,
      );
      throw kept;
    });
    await assert.rejects(damaging, kept);
  }
});
