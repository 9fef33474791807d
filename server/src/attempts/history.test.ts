import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openTestApp, type TestCustomer } from '../../test/app.ts';
import { assertError } from '../../test/envelope.ts';
import { completeNow, sql } from '../../test/task-fixtures.ts';
import { audit } from '../operator/audit.ts';
import { readTask } from '../tasks/task.ts';
import { deleteHistory } from './history.ts';

after(async () => assert.deepEqual(await audit(db), { ok: true, problems: [] }));
const api = await openTestApp();
const { db } = api.database;

const PROMPT = 'A lighthouse of Ada';

/** Completes a task 40 days ago; its files are deleted. */
async function makeOld(customer: TestCustomer) {
  const key = crypto.randomUUID();
  const { body } = await customer.create({ prompt: PROMPT }, { 'idempotency-key': key });
  const id = String(body.id);
  const insert = `insert into stored_objects (id, owner_id, role, state, media_type, delete_after)
    values ('obj_' || $1, $1, 'output', 'deleted', 'video/mp4', clock_now()),
      ('in_' || $1, $1, 'input', 'deleted', 'image/png', null)`;
  await sql(db, insert, [id]);
  await completeNow(db, await readTask(db, id), { outputObjectId: `obj_${id}` });
  const update = `update tasks set created_at = created_at - interval '40 days',
      updated_at = updated_at - interval '40 days' where id = $1`;
  await sql(db, update, [id]);
  return { id, key };
}

/** How many rows explain the past of a task: history, evidence and objects. */
async function rowsOf(id: string) {
  const select = `select (select count(*)::int from task_history where task_id = $1) as history,
      (select count(*)::int from evidence e join attempts a on a.id = e.attempt_id
       where a.task_id = $1) as evidence,
      (select count(*)::int from stored_objects where owner_id = $1) as objects,
      (select count(*)::int from attempts where task_id = $1 and job_id is not null) as jobs`;
  const [row] = await sql<{ history: number }>(db, select, [id]);
  return row;
}

test('a task whose history was deleted reads as before, and its key still returns it', async () => {
  const customer = await api.customer(10_000);
  const { id, key } = await makeOld(customer);
  const read = async () => (await customer.send({ url: `/api/v1/tasks/${id}` })).body;
  const { output, ...earlier } = await read();
  assert.equal(await deleteHistory(db, 41), 0, 'it ended later');
  assert.equal(await deleteHistory(db, 30), 1);
  assert.deepEqual(await rowsOf(id), { history: 0, evidence: 0, objects: 1, jobs: 1 });
  const { output: again, ...later } = await read();
  assert.deepEqual(later, earlier);
  const link = new URL(again.video_url);
  assert.equal(link.pathname, new URL(output.video_url).pathname);
  assertError(await customer.send({ url: link.pathname + link.search }), 'output_deleted');
  const retried = await customer.create({ prompt: PROMPT }, { 'idempotency-key': key });
  assert.deepEqual([retried.status, retried.body.id], [200, id]);
  assert.equal(await deleteHistory(db, 30), 0, 'it was done');
});

test('the job of a task whose history was deleted can’t become another attempt’s', async () => {
  const customer = await api.customer(10_000);
  const [old, other] = [await makeOld(customer), await makeOld(customer)];
  assert.equal(await deleteHistory(db, 30), 2);
  const update = `update attempts set job_id = (select job_id from attempts where task_id = $1)
    where task_id = $2`;
  const adopting = sql(db, update, [old.id, other.id]);
  await assert.rejects(adopting, { constraint: 'one_attempt_per_job' });
});

test('history that another task or a metric may need stays', async () => {
  const customer = await api.customer(10_000);
  const changes = [
    `update stored_objects set state = 'ready' where id = 'obj_' || $1`,
    `insert into orphan_jobs (provider, job_id, attempt_id, task_id, source, state)
     select provider, 'second', id, task_id, 'sender', 'confirmed' from attempts
     where task_id = $1`,
    'update tasks set provider_billed = true where id = $1',
    `update attempts set outcome_by = 'operator' where task_id = $1`,
    `insert into evidence (attempt_id, source, finding, digest)
     select id, 'sender', '{"job": "third"}', 'third' from attempts where task_id = $1`,
  ];
  const kept: string[] = [];
  for (const change of changes) {
    const { id } = await makeOld(customer);
    await sql(db, change, [id]);
    kept.push(id);
  }
  const plain = await makeOld(customer);
  const before = await Promise.all(kept.map(rowsOf));
  assert.equal(await deleteHistory(db, 30), 1);
  assert.deepEqual(await Promise.all(kept.map(rowsOf)), before);
  assert.deepEqual((await rowsOf(plain.id))?.history, 0);
  await sql(db, `update stored_objects set state = 'deleted' where id = 'obj_' || $1`, [kept[0]]);
  assert.equal(await deleteHistory(db, 30), 1);
});
