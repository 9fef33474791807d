import { first, type Queryable, statement } from '../../database/database.ts';
import { TASK_COLUMNS, type Task } from '../task.ts';

const ANNOUNCE = statement(
  'task_announce',
  `update tasks set announced_at = coalesce(announced_at, clock_now())
   where id = $1 and phase in ('reserved', 'ingesting', 'submitting', 'held')
   returning ${TASK_COLUMNS}`,
);

const READ_BOUND = statement(
  'task_read_bound',
  `select ${TASK_COLUMNS} from tasks
   where id = $1 and exists (select from idempotency_keys k where k.task_id = tasks.id
     and k.account_id = tasks.account_id and k.surface = tasks.surface
     and k.key = tasks.idempotency_key)`,
);

/**
 * Announces a task (C2): records, by compare-and-set, that a client is about to get a response that
 * it may rely on, so that the task's Idempotency-Key is not released any more.
 * @returns the task; undefined when the task has failed already and its key was released
 */
export async function announce(db: Queryable, taskId: string): Promise<Task | undefined> {
  const [announced] = await db.query<Task>(ANNOUNCE, [taskId]);
  if (announced) return announced;
  return first<Task>(db, READ_BOUND, [taskId]);
}
