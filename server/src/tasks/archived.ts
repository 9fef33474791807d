import { type Queryable, statement } from '../database/database.ts';
import { TASK_COLUMNS, type Task } from './task.ts';

/** Archived tasks, each with its row as it was in the table `tasks` (decisions/0025). */
export const ARCHIVED = `archived_tasks a
   cross join lateral jsonb_populate_record(null::tasks, a.record->'task') as tasks`;

const READ = statement(
  'archived_read',
  `select ${TASK_COLUMNS} from ${ARCHIVED}
   where a.id = $1 and a.account_id = $2 and ($3::text is null or tasks.surface = $3)`,
);

/** An archived task of this account and, if it is given, this surface. */
export async function readArchived(
  db: Queryable,
  id: string,
  { accountId, surface }: { accountId: string; surface?: string },
): Promise<Task | undefined> {
  const [task] = await db.query<Task>(READ, [id, accountId, surface ?? null]);
  return task;
}

const READ_BOUND = statement(
  'archived_read_bound',
  `select ${TASK_COLUMNS} from ${ARCHIVED}
   join idempotency_keys k on k.task_id = a.id and k.account_id = a.account_id
     and k.surface = tasks.surface and k.key = tasks.idempotency_key
   where a.id = $1`,
);

/** An archived task, if its Idempotency-Key is bound to it. Keys are not archived (C4). */
export async function readArchivedBound(db: Queryable, id: string): Promise<Task | undefined> {
  const [task] = await db.query<Task>(READ_BOUND, [id]);
  return task;
}

const HAS_OUTPUT = statement(
  'archived_has_output',
  'select from archived_tasks where output_object_id = $1',
);

/** Whether the object was the output of an archived task: its file is deleted. */
export async function isArchivedOutput(db: Queryable, objectId: string): Promise<boolean> {
  return (await db.query(HAS_OUTPUT, [objectId])).length > 0;
}
