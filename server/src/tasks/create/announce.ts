import { first, type Queryable, statement } from '../../database/database.ts';
import { fromEveryPlace } from '../archive/every-task.ts';
import { TASK_COLUMNS, type Task } from '../task.ts';

const ANNOUNCE = statement(
  'task_announce',
  `update tasks set announced_at = coalesce(announced_at, clock_now())
   where id = $1 and phase in ('reserved', 'ingesting', 'submitting', 'held')
   returning ${TASK_COLUMNS}`,
);

const READ_BOUND = statement(
  'task_read_bound',
  fromEveryPlace(
    ({ rows, key }) => `select ${TASK_COLUMNS} from ${rows}
     join idempotency_keys k on k.task_id = ${key}.id and k.account_id = ${key}.account_id
       and k.surface = tasks.surface and k.key = tasks.idempotency_key
     where ${key}.id = $1`,
  ),
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
