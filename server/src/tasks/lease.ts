import {
  type Database,
  type Queryable,
  statement,
  type Transaction,
} from '../database/database.ts';
import type { QueueName } from '../queue/queue.ts';
import { TASK_COLUMNS, type Task } from './task.ts';
import { LEASE_SECONDS, Superseded } from './transitions.ts';

// In a subquery: `clock_now()` is volatile, so that no index could be searched by it otherwise.
const NOW = '(select clock_now())';
const FREE = `(leased_until is null or leased_until < ${NOW})`;

const TO_FETCH = `phase in ('reserved', 'ingesting') and request->>'mode' <> 'text-to-video'`;

/**
 * How many tasks of one account may fetch their files at a time, in all processes together. It is
 * half the ingest pool of one process, so that the slow hosts of one account do not block the other
 * accounts.
 */
const FETCHES_PER_ACCOUNT = 4;

const FETCHING = `(select count(*) from tasks others
     where others.account_id = tasks.account_id and others.leased_until > ${NOW}
       and others.phase in ('reserved', 'ingesting')
       and others.request->>'mode' <> 'text-to-video')`;

const CLAIM = statement(
  'task_claim',
  `update tasks set lease = lease + 1,
     leased_until = clock_now() + interval '${LEASE_SECONDS} seconds'
   where id = $1 and due_at <= ${NOW} and ${FREE}
     and (not (${TO_FETCH}) or ${FETCHING} < ${FETCHES_PER_ACCOUNT})
   returning ${TASK_COLUMNS}`,
);

/**
 * Leases a task that is due and has no lease.
 * @returns undefined when the task is not due or is leased already, or when it needs a download and
 * its account already fetches the files of as many tasks as it may
 */
export async function claim(db: Queryable, taskId: string): Promise<Task | undefined> {
  const [task] = await db.query<Task>(CLAIM, [taskId]);
  return task;
}

const RENEW = statement(
  'task_renew',
  `update tasks set leased_until = clock_now() + interval '${LEASE_SECONDS} seconds'
   from unnest($1::text[], $2::bigint[]) as mine (id, lease)
   where tasks.id = mine.id and tasks.lease = mine.lease and tasks.leased_until is not null`,
);

/** Renews the leases of all tasks that this process works on, in one statement. */
export async function renew(db: Database, leases: Map<string, number>): Promise<void> {
  await db.query(RENEW, [[...leases.keys()], [...leases.values()]]);
}

const RELEASE = statement(
  'task_release',
  'update tasks set leased_until = null where id = $1 and lease = $2',
);

/** Releases a lease between two steps: another worker may continue at once. */
export async function release(db: Queryable, task: Task): Promise<void> {
  await db.query(RELEASE, [task.id, task.lease]);
}

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

const MAX_DUE_PER_POOL = 200;

/**
 * The worker pool that runs a due task. Held tasks and archiving have pools of their own: finds
 * wait for turns of a small rate budget, outputs wait for the one decoder, and neither may delay
 * submits and polls.
 */
export type WorkerPool = QueueName | 'held' | 'archive';

/** The worker pool that only claims tasks in this phase, if there is one. */
export function ownPoolOf({ phase }: Pick<Task, 'phase'>): WorkerPool | undefined {
  if (phase === 'archiving') return 'archive';
  return phase === 'held' ? 'held' : undefined;
}

function dueInPool(pool: WorkerPool, condition: string): string {
  return `(select id, '${pool}' as pool from tasks
     where due_at <= ${NOW} and ${FREE} and ${condition}
     order by due_at limit ${MAX_DUE_PER_POOL})`;
}

// Selects at most as many tasks of each account as may still start, so that the other tasks of the
// account do not fill the limit.
const DUE_TO_FETCH = `(select id, 'ingest' as pool from (
     select id, account_id, due_at, ${FETCHING} as fetching,
       row_number() over (partition by account_id order by due_at) as place
     from tasks where due_at <= ${NOW} and ${FREE} and ${TO_FETCH}) as waiting
   where place + fetching <= ${FETCHES_PER_ACCOUNT} order by due_at limit ${MAX_DUE_PER_POOL})`;

// A task that still has to fetch files goes to the ingest pool; see queue.ts. Each pool has its own
// limit: many waiting downloads must not keep polls from being found.
const DUE = statement(
  'task_due',
  [
    dueInPool('task', `phase not in ('held', 'archiving') and not (${TO_FETCH})`),
    dueInPool('held', `phase = 'held'`),
    dueInPool('archive', `phase = 'archiving'`),
    DUE_TO_FETCH,
  ].join(' union all '),
);

/** Due tasks without a lease: at most 200 per pool, those that have been due longest. */
export function dueTasks(db: Queryable): Promise<Array<{ id: string; pool: WorkerPool }>> {
  return db.query(DUE);
}
