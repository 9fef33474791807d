import { type Database, queryFirst, statement, type Transaction } from '../database/database.ts';
import { sharedWork } from '../database/shared-work.ts';
import { type Phase, TASK_COLUMNS, type Task } from './task.ts';
import { LEASE_SECONDS, Superseded } from './transitions.ts';

/**
 * The database's clock, for conditions. In a subquery, because `clock_now()` is volatile: no index
 * could be searched by it.
 */
export const NOW = '(select clock_now())';

/** A condition: nobody has leased the task. */
export const FREE = `(leased_until is null or leased_until < ${NOW})`;

// A row that another transaction has locked is left out: waiting for it could let all other leases
// end, and two statements that lock several tasks could deadlock. `no key`: rows that refer to the
// task may be inserted meanwhile.
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
 * Renews the leases of the tasks that this process works on, in one statement. It waits for no
 * locked task: there are three renewals in the time of a lease.
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

/**
 * Releases a lease between two steps: another worker may continue at once. Tasks that are released
 * together share the statement.
 */
export async function release(db: Database, task: Task): Promise<void> {
  await releaseShared(db, task);
}

/**
 * Takes a task in one of these phases from its worker, for an operator's command: the new lease
 * number refuses the worker's changes. After the transaction any worker may claim the task.
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
 * Lets the sender of a submit move the task by the outcome, which the sender knows for certain. If
 * another worker has leased the task in the meantime, the task gets a higher lease number and no
 * `leased_until`: the changes of that worker are refused, and any worker may claim the task.
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
