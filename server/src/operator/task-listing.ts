import { type Database, statement } from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';

interface TaskListing {
  id: string;
  account_id: string;
  phase: string;
  held_cause: string | null;
  provider: string;
  model: string;
  credits: number;
  created_at: Date;
  updated_at: Date;
}

const COLUMNS = `id, account_id, phase, held_cause, provider, request->>'model' as model, credits,
     created_at, updated_at`;

const LIST = statement(
  'operator_tasks',
  `select ${COLUMNS} from tasks where ($1::text is null or phase = $1)
   order by created_at desc limit 1000`,
);

const LIST_OF_ACCOUNT = statement(
  'operator_tasks_of_account',
  `select ${COLUMNS} from tasks where account_id = $2 and ($1::text is null or phase = $1)
   order by created_at desc limit 1000`,
);

/** The newest thousand tasks, filtered by phase and account if these are given. */
export function listTasks(
  db: Database,
  filter: { phase?: string | undefined; accountId?: string | undefined },
): Promise<TaskListing[]> {
  const { phase = null, accountId } = filter;
  return accountId === undefined
    ? db.query<TaskListing>(LIST, [phase])
    : db.query<TaskListing>(LIST_OF_ACCOUNT, [phase, accountId]);
}

/** SQL for a JSON array of rows, in the given order. */
function listOf(from: string, { row, order }: { row: string; order: string }): string {
  return `(select coalesce(jsonb_agg(${row} order by ${order}), '[]') from ${from})`;
}

const EVIDENCE = listOf('evidence e where e.attempt_id = a.id', {
  row: `to_jsonb(e) - '{attempt_id,digest}'::text[]`,
  order: 'e.first_at',
});
const ATTEMPTS = listOf('attempts a where a.task_id = t.id', {
  row: `to_jsonb(a) - 'task_id' || jsonb_build_object('evidence', ${EVIDENCE})`,
  order: 'a.created_at',
});
const rowsOf = (table: string, order: string) =>
  listOf(`${table} r where r.task_id = t.id`, { row: `to_jsonb(r) - 'task_id'`, order });

const SHOW = statement(
  'operator_task',
  `select to_jsonb(t) as task, ${ATTEMPTS} as attempts,
     ${rowsOf('orphan_jobs', 'r.found_at')} as orphan_jobs,
     ${rowsOf('task_history', 'r.at')} as history,
     ${rowsOf('objects', 'r.created_at')} as objects
   from tasks t where t.id = $1`,
);

/**
 * Everything that is known about a task: its row, its attempts with their evidence, its history,
 * its objects and its orphan jobs; each list oldest first.
 * @throws UsageError when there is no such task
 */
export async function showTask(db: Database, id: string): Promise<object> {
  const [row] = await db.query<{ task: object }>(SHOW, [id]);
  if (!row) throw new UsageError(`there is no task ${JSON.stringify(id)}`);
  const { task, ...rest } = row;
  return { ...task, ...rest };
}
