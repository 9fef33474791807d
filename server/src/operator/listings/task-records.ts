import { type Queryable, statement } from '../../database/database.ts';
import { withIsoTimes } from '../../kernel/text/iso-time.ts';
import { objectsOfTask } from '../../storage/object-sql.ts';
import { type Credentials, HISTORY_OF_TASK } from '../../tasks/task.ts';
import { missingTask } from '../../tasks/task-listing.ts';

const EVIDENCE = `(
     select coalesce(jsonb_agg(
       to_jsonb(e) - '{attempt_id,digest}'::text[] order by e.first_at), '[]')
     from evidence e where e.attempt_id = a.id)`;
const ATTEMPTS = `(
     select coalesce(jsonb_agg(
       to_jsonb(a) - 'task_id' || jsonb_build_object('evidence', ${EVIDENCE})
       order by a.created_at), '[]')
     from attempts a where a.task_id = tasks.id)`;
const ORPHAN_JOBS = `(
     select coalesce(jsonb_agg(to_jsonb(o) - 'task_id' order by o.found_at), '[]')
     from orphan_jobs o where o.task_id = tasks.id)`;
const SHARES = `(
     select coalesce(jsonb_agg(
       to_jsonb(s) - '{account_id,task_id,traffic_day,traffic_bytes}'::text[] order by s.id), '[]')
     from shares s where s.account_id = tasks.account_id and s.task_id = tasks.id)`;

const READ = statement(
  'task_records',
  `select jsonb_build_object('task', to_jsonb(tasks), 'attempts', ${ATTEMPTS},
     'history', ${HISTORY_OF_TASK},
     'objects', ${objectsOfTask('tasks.id')},
     'orphan_jobs', ${ORPHAN_JOBS}, 'shares', ${SHARES}) as record
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
  job_cost: number | null;
  job_cost_currency: string | null;
  job_compute_seconds: number | null;
  error_code: string | null;
  error_message: string | null;
  output_object_id: string | null;
  output_facts: { credentials?: Credentials } | null;
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
  shares: {
    id: string;
    created_at: string;
    ends_at: string | null;
    ended_at: string | null;
    views: number;
  }[];
}

export type TaskDetails = TaskRow & TaskLists;

interface Records {
  record: { task: TaskRow } & TaskLists;
}

/** A task's record; its lists are oldest first. @throws UsageError when there is no such task */
export async function showTask(db: Queryable, id: string): Promise<TaskDetails> {
  const [row] = await db.query<Records>(READ, [id]);
  if (!row) throw missingTask(id);
  const { task, attempts, orphan_jobs, history, objects, shares } = row.record;
  return {
    ...withIsoTimes(task),
    attempts: attempts.map(({ evidence, ...attempt }) => {
      return { ...withIsoTimes(attempt), evidence: evidence.map(withIsoTimes) };
    }),
    orphan_jobs: orphan_jobs.map(withIsoTimes),
    history: history.map(withIsoTimes),
    objects: objects.map(withIsoTimes),
    shares: shares.map(withIsoTimes),
  };
}
