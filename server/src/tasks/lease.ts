import { type Database, queryFirst, statement, type Transaction } from '../database/database.ts';
import { sharedWork } from '../database/shared-work.ts';
import { type Phase, TASK_COLUMNS, type Task } from './task.ts';
import { LEASE_SECONDS, Superseded } from './transitions.ts';

/** A subquery, because the volatile `clock_now()` itself would rule out an index scan. */
export const NOW = '(select clock_now())';

/** Condition: the task is not leased. */
export const UNLEASED = `(leased_until is null or leased_until < ${NOW})`;

// Locked rows are skipped: waiting for one could let all other leases expire, and statements that
// lock several tasks could deadlock. `id = any` is for the index. `no key`: rows that reference the
// task can still be inserted.
const RENEW = statement(
  'task_renew',
  `with mine as materialized (
     select tasks.id from tasks join unnest($1::text[], $2::bigint[]) as given (id, lease)
       on given.id = tasks.id and given.lease = tasks.lease
     where tasks.id = any($1) and tasks.leased_until is not null
     for no key update of tasks skip locked)
   update tasks set leased_until = clock_now() + interval '${LEASE_SECONDS} seconds'
   where id = any(array(select id from mine))`,
);

/**
 * Renews the leases of this process's tasks. Skipping one does no harm: a lease spans three
 * renewals.
 */
export async function renew(db: Database, leases: Map<string, number>): Promise<void> {
  await db.query(RENEW, [[...leases.keys()], [...leases.values()]]);
}

const RELEASE = statement(
  'task_release',
  `update tasks set leased_until = null
   from unnest($1::text[], $2::bigint[]) as given (id, lease)
   where tasks.id = any($1) and tasks.id = given.id and tasks.lease = given.lease`,
);

const releaseShared = sharedWork<Task, Task>({
  keyOf: ({ id }) => id,
  async work(db, tasks) {
    await db.query(RELEASE, [tasks.map(({ id }) => id), tasks.map(({ lease }) => lease)]);
    return tasks;
  },
});

/** Lets another worker continue at once. Concurrent releases share a statement. */
export async function release(db: Database, task: Task): Promise<void> {
  await releaseShared(db, task);
}

/**
 * Takes a task in one of these phases from its worker, for an operator's command: the new lease
 * number, a fencing token, voids the worker's changes.
 * @returns undefined when the task has another phase or does not exist
 */
export const takeLease = queryFirst<[taskId: string, phases: readonly Phase[]], Task, Transaction>(
  'task_take_lease',
  `update tasks set lease = lease + 1, leased_until = null, due_at = clock_now()
   where id = $1 and phase = any($2) returning ${TASK_COLUMNS}`,
);

const LOCK = statement('task_lock', 'select lease from tasks where id = $1 for update');

const RECLAIM = statement(
  'task_reclaim',
  `update tasks set lease = lease + 1, leased_until = null, due_at = clock_now()
   where id = $1 and (phase = 'submitting' or held_cause = 'acceptance')
   returning ${TASK_COLUMNS}`,
);

/**
 * Lets the sender of a submit apply its outcome, which is certain. If another worker has leased the
 * task since, the task gets a higher lease number: the other worker's changes are refused, and any
 * worker may claim the task.
 * @returns the task under the caller's own lease or under the new number
 * @throws Superseded when the task no longer waits for the outcome of a submit
 */
export async function reclaimLease(tx: Transaction, task: Task): Promise<Task> {
  const [locked] = await tx.query<{ lease: number }>(LOCK, [task.id]);
  if (locked?.lease === task.lease) return task;
  const [taken] = await tx.query<Task>(RECLAIM, [task.id]);
  if (!taken) throw new Superseded(`${task.id} no longer waits for the outcome of a submit`);
  return taken;
}
