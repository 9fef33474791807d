import { type Database, statement } from '../kernel/database.ts';
import { UsageError } from '../kernel/errors.ts';

export interface TaskListing {
  id: string;
  account_id: string;
  phase: string;
  held_cause: string | null;
  model: string;
  credits: number;
  created_at: Date;
  updated_at: Date;
}

const LIST = statement(
  'operator_tasks',
  `select id, account_id, phase, held_cause, request->>'model' as model, credits, created_at,
     updated_at
   from tasks where ($1::text is null or phase = $1) and ($2::text is null or account_id = $2)
   order by created_at desc limit 1000`,
);

/** The newest thousand tasks, of a phase and of an account if these are given. */
export function listTasks(
  db: Database,
  filter: { phase?: string | undefined; accountId?: string | undefined },
): Promise<TaskListing[]> {
  return db.query<TaskListing>(LIST, [filter.phase ?? null, filter.accountId ?? null]);
}

const SHOW = statement(
  'operator_task',
  `select to_jsonb(t) as task,
     (select coalesce(jsonb_agg(to_jsonb(a) order by a.created_at), '[]') from attempts a
      where a.task_id = t.id) as attempts,
     (select coalesce(jsonb_agg(to_jsonb(h) - 'task_id' order by h.at), '[]') from task_history h
      where h.task_id = t.id) as history,
     (select coalesce(jsonb_agg(to_jsonb(o) - 'task_id' order by o.created_at), '[]') from objects o
      where o.task_id = t.id) as objects
   from tasks t where t.id = $1`,
);

/** Everything known of a task: its row, its attempts, its history, its objects. */
export async function showTask(db: Database, id: string): Promise<object> {
  const [row] = await db.query<{
    task: object;
    attempts: object;
    history: object;
    objects: object;
  }>(SHOW, [id]);
  if (!row) throw new UsageError(`there is no task ${JSON.stringify(id)}`);
  const { task, attempts, history, objects } = row;
  return { ...task, attempts, history, objects };
}
