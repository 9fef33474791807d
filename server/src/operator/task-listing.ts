import { type Database, type Queryable, statement } from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import { FREE, NOW } from '../tasks/lease.ts';

export interface TaskListing {
  id: string;
  account_id: string;
  phase: string;
  held_cause: string | null;
  provider: string;
  model: string;
  credits: number;
  created_at: Date;
  updated_at: Date;
  /** Only in the list of held tasks: when it was first held. */
  held_since?: Date;
  /** Only in the list of due tasks. */
  due_at?: Date;
  /** Only in the list of archived tasks. */
  archived_at?: Date;
}

const COLUMNS = `id, account_id, phase, held_cause, provider, request->>'model' as model, credits,
     created_at, updated_at`;

/** The page that begins after the task $1; null: the first page. */
const NEWEST = `($1::text is null
       or (created_at, id) < (select c.created_at, c.id from tasks c where c.id = $1))
   order by created_at desc, id desc limit $2`;

const LIST = statement(
  'operator_tasks',
  `select ${COLUMNS} from tasks where ($3::text is null or phase = $3) and ${NEWEST}`,
);

const LIST_OF_ACCOUNT = statement(
  'operator_tasks_of_account',
  `select ${COLUMNS} from tasks
   where account_id = $4 and ($3::text is null or phase = $3) and ${NEWEST}`,
);

// The first time counts, because each retry to fetch an output moves the task out of `held` for a
// short time.
const HELD_SINCE = `coalesce((select min(at) from task_history h
     where h.task_id = tasks.id and h.phase = 'held'), updated_at)`;

const LIST_HELD = statement(
  'operator_tasks_held',
  `with held as (
     select ${COLUMNS}, ${HELD_SINCE} as held_since from tasks
     where phase = 'held' and ($3::text is null or account_id = $3))
   select ${COLUMNS.replace("request->>'model' as model", 'model')}, held_since from held
   where $1::text is null or (held_since, id) > (
     select ${HELD_SINCE}, id from tasks where id = $1)
   order by held_since, id limit $2`,
);

const LIST_DUE = statement(
  'operator_tasks_due',
  `select ${COLUMNS}, due_at from tasks
   where due_at is not null and due_at <= ${NOW} and ${FREE} order by due_at, id limit $1`,
);

/** Tasks whose next step is due and that no worker has taken, those that wait longest first. */
export function listDue(db: Queryable, limit: number): Promise<TaskListing[]> {
  return db.query<TaskListing>(LIST_DUE, [limit]);
}

/**
 * A page of tasks, filtered by phase and account if these are given: the newest first; held tasks
 * those that were held first.
 * @param filter.after the last task of the page before
 * @throws UsageError when there is no task `after`
 */
export async function listTasks(
  db: Database,
  filter: {
    phase?: string | undefined;
    accountId?: string | undefined;
    after?: string | undefined;
    limit: number;
  },
): Promise<TaskListing[]> {
  const { phase = null, accountId = null, after = null, limit } = filter;
  if (after !== null) await requireTask(db, after);
  if (phase === 'held') return db.query<TaskListing>(LIST_HELD, [after, limit, accountId]);
  return accountId === null
    ? db.query<TaskListing>(LIST, [after, limit, phase])
    : db.query<TaskListing>(LIST_OF_ACCOUNT, [after, limit, phase, accountId]);
}

const EXISTS = statement('operator_task_exists', 'select from tasks where id = $1');

/** @throws UsageError when there is no such task, or it is archived */
export async function requireTask(db: Queryable, id: string): Promise<void> {
  if ((await db.query(EXISTS, [id])).length > 0) return;
  throw await missingTask(db, id);
}

const IS_ARCHIVED = statement(
  'operator_task_is_archived',
  'select phase from archived_tasks where id = $1',
);

/** The error for a task that is not in the table of tasks. */
export async function missingTask(db: Queryable, id: string): Promise<UsageError> {
  const [archived] = await db.query<{ phase: string }>(IS_ARCHIVED, [id]);
  return new UsageError(
    archived
      ? `${id} is ${archived.phase} and archived: nothing can change it`
      : `there is no task ${JSON.stringify(id)}`,
  );
}

const LIST_ARCHIVED = statement(
  'operator_tasks_archived',
  `select id, account_id, phase, null as held_cause, provider,
     record#>>'{task,request,model}' as model, credits,
     (record#>>'{task,created_at}')::timestamptz as created_at,
     (record#>>'{task,updated_at}')::timestamptz as updated_at, archived_at
   from archived_tasks
   where account_id = $1 and ($2::text is null or id < $2) and ($4::text is null or phase = $4)
   order by id desc limit $3`,
);

/** A page of the archived tasks of an account, the newest first. */
export function listArchived(
  db: Database,
  accountId: string,
  filter: { phase?: string | undefined; after?: string | undefined; limit: number },
): Promise<TaskListing[]> {
  const { phase = null, after = null, limit } = filter;
  return db.query<TaskListing>(LIST_ARCHIVED, [accountId, after, limit, phase]);
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

const HISTORY = rowsOf('task_history', 'r.at');
const OBJECTS = rowsOf('objects', 'r.created_at');

/** SQL for all records of a task `t`: the arguments of jsonb_build_object. */
export const TASK_RECORDS = `'task', to_jsonb(t), 'attempts', ${ATTEMPTS}, 'history', ${HISTORY},
     'objects', ${OBJECTS}`;

const SHOW = statement(
  'operator_task',
  `select jsonb_build_object(${TASK_RECORDS},
     'orphan_jobs', ${rowsOf('orphan_jobs', 'r.found_at')}) as record
   from tasks t where t.id = $1`,
);

const SHOW_ARCHIVED = statement(
  'operator_task_archived',
  `select record || jsonb_build_object('orphan_jobs', '[]'::jsonb) as record,
     jsonb_build_object('archived_at', archived_at, 'taken_down_at', taken_down_at,
       'erased_at', erased_at) as archive
   from archived_tasks where id = $1`,
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

/** Times are ISO 8601. It has the other columns of these rows, too. */
type TaskDetails = TaskRow & { archived_at?: string } & TaskLists;

interface Shown {
  record: { task: TaskRow } & TaskLists;
  archive?: { archived_at: string };
}

/**
 * Everything that is known about a task, also an archived one: its row, its attempts with their
 * evidence, its history, its objects and its orphan jobs; each list oldest first.
 * @throws UsageError when there is no such task
 */
export async function showTask(db: Database, id: string): Promise<TaskDetails> {
  const [row] = [
    ...(await db.query<Shown>(SHOW, [id])),
    ...(await db.query<Shown>(SHOW_ARCHIVED, [id])),
  ];
  if (!row) throw await missingTask(db, id);
  const { task, attempts, orphan_jobs, history, objects } = row.record;
  return { ...task, ...row.archive, attempts, orphan_jobs, history, objects };
}
