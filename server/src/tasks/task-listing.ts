import {
  type Database,
  namedStatement,
  type Queryable,
  query,
  queryValue,
  statement,
  type Transaction,
  whether,
} from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import { NOW, UNLEASED } from './lease.ts';
import type { Phase, Task } from './task.ts';

export interface TaskListing {
  id: string;
  account_id: string;
  surface: string;
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
}

const COLUMNS = `id, account_id, surface, phase, held_cause, provider,
     request->>'model' as model, credits, created_at, updated_at`;

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

// Counted from the first hold, because each retry to fetch an output briefly leaves `held`.
export const HELD_SINCE = `coalesce((select min(at) from task_history h
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

/** Due tasks that no worker has leased, longest wait first. */
export const listDue = query<[limit: number], TaskListing>(
  'operator_tasks_due',
  `select ${COLUMNS}, due_at from tasks
   where due_at is not null and due_at <= ${NOW} and ${UNLEASED} order by due_at, id limit $1`,
);

/**
 * A page of tasks, newest first; held tasks by when they were first held.
 * @param filter.after the last task of the previous page
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

export const phaseOf = queryValue<[id: string], Phase | undefined>(
  'task_phase',
  'select phase from tasks where id = $1',
  undefined,
);

export const ownerOf = queryValue<[id: string], string | undefined>(
  'task_owner',
  'select account_id from tasks where id = $1',
  undefined,
);

export const outputOf = queryValue<[taskId: string], string | null | undefined>(
  'task_output',
  'select output_object_id from tasks where id = $1',
  undefined,
);

/** @throws UsageError when there is no such task */
export async function requireTask(db: Queryable, id: string): Promise<void> {
  if ((await phaseOf(db, id)) === undefined) throw missingTask(id);
}

export function missingTask(id: string): UsageError {
  return new UsageError(`there is no task ${JSON.stringify(id)}`);
}

const STATE = statement(
  'task_state_lock',
  `select phase, held_cause, error_code, due_at > clock_now() as is_due_later,
     leased_until > clock_now() as is_leased
   from tasks where id = $1 for update`,
);

export interface TaskState extends Pick<Task, 'phase' | 'held_cause' | 'error_code'> {
  /** Whether its next step is due later; null: it has none. */
  is_due_later: boolean | null;
  is_leased: boolean | null;
}

/** Locks a task. @throws UsageError when there is no such task */
export async function lockState(tx: Transaction, id: string): Promise<TaskState> {
  const [state] = await tx.query<TaskState>(STATE, [id]);
  if (!state) throw missingTask(id);
  return state;
}

export const liveTasks = queryValue<[accountId: string], number>(
  'operator_live_tasks',
  'select count(*)::int as tasks from tasks where account_id = $1 and due_at is not null',
  0,
);

export const countTasks = query<[accountId: string], { phase: Phase; tasks: number }>(
  'operator_account_tasks',
  'select phase, count(*)::int as tasks from tasks where account_id = $1 group by 1 order by 1',
);

/** Whether the installation has ever had a task. */
export const hasTasks = whether<[]>('task_any', 'select from tasks order by id limit 1');

type Listed = Pick<TaskListing, 'id' | 'account_id' | 'surface' | 'provider' | 'credits'>;
export type HeldTask = Listed & { held_cause: string; held_since: Date };

/** How many held tasks an operator may decide at once: so many can still be read. */
const MAX_TASKS = 1000;

const HELD_TO_DECIDE = namedStatement(
  'operator_held_to_decide',
  `with held as (
     select id, account_id, surface, held_cause, provider, credits, ${HELD_SINCE} as held_since
     from tasks where phase = 'held' and provider = coalesce(:provider::text, provider)
       and account_id = coalesce(:accountId::text, account_id)
       and held_cause = coalesce(:cause::text, held_cause))
   select id, account_id, surface, held_cause, provider, credits, held_since from held
   where held_since <= (select clock_now()) - :hours::float8 * interval '1 hour'
   order by held_since, id limit ${MAX_TASKS}`,
);

/** Held tasks, longest held first. null matches any; `hours`: held for at least this long. */
export function heldTasks(
  db: Queryable,
  filter: {
    provider: string | null;
    accountId: string | null;
    hours: number;
    cause: string | null;
  },
): Promise<HeldTask[]> {
  return db.query<HeldTask>(HELD_TO_DECIDE, HELD_TO_DECIDE.values(filter));
}
