import { type Queryable, statement } from '../../database/database.ts';
import { withIsoTimes } from '../../kernel/text/iso-time.ts';
import { objectsOfTask } from '../../storage/object-sql.ts';

/** SQL for a JSON array of rows, in the given order. */
function jsonRows(from: string, { row, order }: { row: string; order: string }): string {
  return `(select coalesce(jsonb_agg(${row} order by ${order}), '[]') from ${from})`;
}

/** SQL for a JSON array of the rows that a table has of a task, in the given order. */
export const jsonRowsOf = (table: string, task: string, order: string) =>
  jsonRows(`${table} r where r.task_id = ${task}`, { row: `to_jsonb(r) - 'task_id'`, order });

const EVIDENCE = jsonRows('evidence e where e.attempt_id = a.id', {
  row: `to_jsonb(e) - '{attempt_id,digest}'::text[]`,
  order: 'e.first_at',
});
const ATTEMPTS = jsonRows('attempts a where a.task_id = tasks.id', {
  row: `to_jsonb(a) - 'task_id' || jsonb_build_object('evidence', ${EVIDENCE})`,
  order: 'a.created_at',
});

const READ = statement(
  'task_records',
  `select jsonb_build_object('task', to_jsonb(tasks), 'attempts', ${ATTEMPTS},
     'history', ${jsonRowsOf('task_history', 'tasks.id', 'r.at')},
     'objects', ${objectsOfTask('tasks.id')},
     'orphan_jobs', ${jsonRowsOf('orphan_jobs', 'tasks.id', 'r.found_at')}) as record
   from tasks where tasks.id = $1`,
);

interface Attempt {
  id: string;
  provider: string;
  state: string;
  job_id: string | null;
  send_before: string;
  created_at: string;
  outcome_at: string | null;
  outcome_by: string | null;
  cause: unknown;
  evidence: {
    source: string;
    finding: Record<string, unknown>;
    times: number;
    first_at: string;
    last_at: string;
  }[];
}

interface TaskRow {
  id: string;
  account_id: string;
  surface: string;
  phase: string;
  held_cause: string | null;
  request: Record<string, unknown>;
  credits: number;
  provider: string;
  due_at: string | null;
  leased_until: string | null;
  error_code: string | null;
  error_message: string | null;
  output_object_id: string | null;
  created_at: string;
  updated_at: string;
}

interface TaskLists {
  attempts: Attempt[];
  history: { at: string; phase: string; cause: unknown }[];
  objects: {
    id: string;
    role: string;
    state: string;
    size_bytes: number | null;
    taken_down_at: string | null;
  }[];
  orphan_jobs: { provider: string; job_id: string; state: string; source: string }[];
}

/** It has the other columns of these rows, too. */
export type TaskDetails = TaskRow & TaskLists;

interface Records {
  record: { task: TaskRow } & TaskLists;
}

/**
 * Everything that is known about a task: its row, its attempts with their evidence, its history,
 * its objects and its orphan jobs; each list oldest first. undefined if there is no such task.
 */
export async function readRecords(db: Queryable, id: string): Promise<TaskDetails | undefined> {
  const [row] = await db.query<Records>(READ, [id]);
  if (!row) return undefined;
  const { task, attempts, orphan_jobs, history, objects } = row.record;
  return {
    ...withIsoTimes(task),
    attempts: attempts.map(({ evidence, ...attempt }) => {
      return { ...withIsoTimes(attempt), evidence: evidence.map(withIsoTimes) };
    }),
    orphan_jobs: orphan_jobs.map(withIsoTimes),
    history: history.map(withIsoTimes),
    objects: objects.map(withIsoTimes),
  };
}
