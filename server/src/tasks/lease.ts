import { type Database, type Queryable, statement } from '../kernel/database.ts';
import type { Lane } from '../queue/queue.ts';
import { TASK_COLUMNS, type Task } from './task.ts';
import { LEASE_SECONDS } from './transitions.ts';

const FREE = '(leased_until is null or leased_until < clock_now())';

const CLAIM = statement(
  'task_claim',
  `update tasks set lease = lease + 1, leased_until = clock_now() + interval '${LEASE_SECONDS} seconds'
   where id = $1 and due_at <= clock_now() and ${FREE} returning ${TASK_COLUMNS}`,
);

/** Leases a task that is due and that nobody works on; undefined when it is not so. */
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

/** Keeps the leases of the tasks this process works on, in one statement. */
export async function renew(db: Database, leases: Map<string, number>): Promise<void> {
  await db.query(RENEW, [[...leases.keys()], [...leases.values()]]);
}

const RELEASE = statement(
  'task_release',
  'update tasks set leased_until = null where id = $1 and lease = $2',
);

/** Gives a lease back between two steps: another worker may go on at once. */
export async function release(db: Queryable, task: Task): Promise<void> {
  await db.query(RELEASE, [task.id, task.lease]);
}

// A task that still has files to fetch goes to the lane of downloads; see queue.ts.
const DUE = statement(
  'task_due',
  `select id, case when phase in ('reserved', 'ingesting')
       and request->>'mode' <> 'text-to-video' then 'ingest' else 'task' end as lane
   from tasks where due_at <= clock_now() and ${FREE} order by due_at limit 200`,
);

/** Tasks that are due and that nobody works on, the longest due first. */
export function dueTasks(db: Queryable): Promise<Array<{ id: string; lane: Lane }>> {
  return db.query(DUE);
}
