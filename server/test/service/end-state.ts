import assert from 'node:assert/strict';
import { mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { type Database, statement } from '../../src/database/database.ts';
import { balances } from '../../src/ledger/ledger.ts';
import { audit } from '../../src/operator/audit.ts';
import { until } from '../until.ts';

/** A task that a create with an Idempotency-Key made. */
export interface KeyTask {
  id: string;
  phase: string;
  credits: number;
  error_code: string | null;
  announced: boolean;
  /** States of the local renderer's jobs, except those that a find barred. */
  jobs: string[];
}

const TASKS_OF_KEY = statement(
  'test_tasks_of_key',
  `select t.id, t.phase, t.credits, t.error_code, t.announced_at is not null as announced,
     array(select j.state from attempts a join local_jobs j on j.id = a.id
       where a.task_id = t.id and j.state <> 'barred') as jobs
   from tasks t where t.idempotency_key = $1 order by t.created_at desc, t.id`,
);

/** The tasks of one Idempotency-Key, newest first. */
export function tasksOfKey(db: Database, key: string): Promise<KeyTask[]> {
  return db.query<KeyTask>(TASKS_OF_KEY, [key]);
}

/**
 * Asserts that a request ended in exactly one completed task, rendered once. Earlier tasks of the
 * key must have failed with a refund and without having been announced to a client.
 */
export async function assertOneVideo(db: Database, key: string, taskId: string): Promise<void> {
  const [last, ...earlier] = await tasksOfKey(db, key);
  assert.ok(last, `${key} has a task`);
  assert.equal(last.id, taskId);
  assert.equal(last.phase, 'completed');
  assert.deepEqual(last.jobs, ['succeeded']);
  for (const { phase, error_code, announced, jobs } of earlier) {
    const expected = { phase: 'failed', error_code: 'not_accepted', announced: false, jobs: [] };
    assert.deepEqual({ phase, error_code, announced, jobs }, expected);
  }
}

/**
 * Asserts the paid credits of an account without live tasks, that it has no promotional ones, and
 * that the audit finds no problem.
 */
export async function assertBalance(db: Database, accountId: string, available: number) {
  const { paid, promotional } = await balances(db, accountId);
  assert.deepEqual(paid, { available, reserved: 0 });
  assert.deepEqual(promotional, { available: 0, reserved: 0 });
  assert.deepEqual(await audit(db), { ok: true, problems: [] });
}

const OBJECTS = statement('test_objects', 'select id, role, state from stored_objects order by id');

interface ObjectRow {
  id: string;
  role: string;
  state: string;
}

// A deletion that a killed process began is otherwise tried again after five minutes.
const DELETE_NOW = statement(
  'test_delete_now',
  `update stored_objects set delete_retry_at = clock_now()
   where state = 'deleting' and delete_retry_at is not null`,
);

/**
 * Waits until the sweeper is done, then asserts that no object is half-written, that no input is
 * left, and that the files that are stored are exactly the objects that are ready.
 * @param stored the data folder of the service, or what lists the ids in its bucket, sorted
 */
export async function assertTidyObjects(
  db: Database,
  stored: string | (() => string[]),
): Promise<void> {
  await db.query(DELETE_NOW);
  const objects = await until(
    () => db.query<ObjectRow>(OBJECTS),
    (rows) => rows.every(({ state }) => state === 'ready' || state === 'deleted'),
  );
  const ready = objects.filter(({ state }) => state === 'ready');
  const inputs = ready.filter(({ role }) => role === 'input');
  assert.deepEqual(inputs, []);
  const files = typeof stored === 'string' ? filesUnder(path.join(stored, 'objects')) : stored();
  assert.deepEqual(await files, ready.map(({ id }) => id).sort());
}

async function filesUnder(folder: string): Promise<string[]> {
  await mkdir(folder, { recursive: true }); // it is made with the first file
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name)
    .sort();
}
