// The room tasks/: a client's request from create to video. transitions.ts is the task's state
// machine, lease.ts one worker's right to it, waiting.ts the requests that wait for its acceptance
// or end (docs/ARCHITECTURE.md, "The life of a task").

import type { AspectRatio, Mode } from '../catalog/models.ts';
import type { GenerationRequest } from '../catalog/request.ts';
import type { Parent } from '../credentials/manifest.ts';
import { type Queryable, query, queryFirst } from '../database/database.ts';
import type { OutputReference, ProviderInput } from '../providers/provider.ts';
import { taskOfObject } from '../storage/object-sql.ts';

export type Phase =
  | 'reserved'
  | 'ingesting'
  | 'review'
  | 'submitting'
  | 'generating'
  | 'archiving'
  | 'held'
  | 'completed'
  | 'failed';

/** The phases of a task that is neither accepted nor held, and has not ended. */
export const PHASES_BEFORE_ACCEPTANCE = [
  'reserved',
  'ingesting',
  'review',
  'submitting',
] as const satisfies Phase[];

/** The phases of a task that has not ended. */
export const LIVE_PHASES = [
  ...PHASES_BEFORE_ACCEPTANCE,
  'generating',
  'archiving',
  'held',
] as const satisfies Phase[];

/**
 * The codes in a failed task's error: a closed list (C14), explained in docs/customers/ERRORS.md.
 */
export const FAILURE_CODES = [
  'invalid_media',
  'content_refused',
  'invalid_request',
  'provider_unavailable',
  'not_accepted',
  'provider_failed',
  'generation_expired',
  'output_unavailable',
  'cancelled',
] as const;

export type FailureCode = (typeof FAILURE_CODES)[number];

/**
 * The Content Credentials of an output. `unsupported`: a container that can't carry them, or a file
 * that the signer can't read; `too_large`, `too_slow`: it exceeded the signer's limits.
 */
export type Credentials =
  | {
      kind: 'signed';
      /** Whether an AI model made the video; false for the local renderer's test patterns. */
      isModel: boolean;
      at: string;
      /** The manifest that the provider's file had. */
      parent: Parent;
    }
  | {
      kind: 'unsigned';
      why: 'off' | 'unsupported' | 'too_large' | 'too_slow' | 'failed';
      /** What the signer said; for operators. */
      cause?: string;
    };

/** The copy of a file that the client named. */
export interface TaskInput extends Omit<ProviderInput, 'url'> {
  field: string;
  entry: number | null;
  width: number;
  height: number;
  durationSeconds: number | null;
  /** Of the client's file, in hex, if Content Credentials name inputs. */
  sha256?: string | undefined;
}

export interface Task {
  id: string;
  account_id: string;
  /** Where the request came in. Only this surface sees the task (C20). */
  surface: string;
  idempotency_key: string;
  phase: Phase;
  held_cause: 'acceptance' | 'outcome' | null;
  request: GenerationRequest;
  seed: number;
  aspect_ratio: AspectRatio | null;
  /** All kinds together. */
  credits: number;
  /** How many of the credits are promotional; 0 except on website tasks. */
  promotional_credits: number;
  /** The name of the connection that has the task, or that is tried now. */
  provider: string;
  /** The connections tried before in this round; none accepted the task. */
  route_tried: string[] | null;
  /** The connection whose job failed, if the task was tried once more elsewhere. */
  retried_from: string | null;
  /** When a client was given a response that it may rely on (C2). */
  announced_at: Date | null;
  accepted_at: Date | null;
  /** The number of its lease, a fencing token: each claim raises it. */
  lease: number;
  /** Steps that threw since the last transition, for the backoff. */
  internal_failures: number;
  /** How often it was held for its outcome, for the backoff. */
  outcome_holds: number;
  inputs: TaskInput[];
  /** What the provider said about the result, from which `archive` fetches it. */
  provider_output: OutputReference | null;
  output_object_id: string | null;
  error_code: FailureCode | null;
  error_message: string | null;
  error_details: Record<string, unknown> | null;
  created_at: Date;
  updated_at: Date;
  traceparent: string | null;
  /** The database's clock when the row was read, in seconds since 1970. */
  now_seconds: number;
  /** Seconds since the last transition. */
  phase_seconds: number;
  /** Seconds since a provider accepted it; null before that. */
  accepted_seconds: number | null;
  /** Set in memory by a move that knows it, to save the next step a read. */
  accepted_job_id?: string;
  /** Set in memory when the task has just become ready to submit: there is no attempt yet. */
  is_unattempted?: true;
}

const STORED = `tasks.id, tasks.account_id, tasks.surface, tasks.idempotency_key, tasks.phase,
  tasks.held_cause, tasks.request, tasks.seed, tasks.aspect_ratio, tasks.credits, tasks.provider,
  tasks.route_tried, tasks.retried_from, tasks.announced_at, tasks.accepted_at, tasks.lease,
  tasks.internal_failures, tasks.outcome_holds, tasks.inputs, tasks.provider_output, tasks.output_object_id, tasks.error_code,
  tasks.error_message, tasks.error_details, tasks.created_at, tasks.updated_at, tasks.traceparent`;

/** The columns of {@link Task}, for `select` and `returning` on the table `tasks`. */
export const TASK_COLUMNS = `${STORED},
  tasks.promotional_credits,
  extract(epoch from clock_now())::float8 as now_seconds,
  extract(epoch from clock_now() - tasks.updated_at)::float8 as phase_seconds,
  extract(epoch from clock_now() - tasks.accepted_at)::float8 as accepted_seconds`;

/** The columns of a subquery that selects {@link TASK_COLUMNS}. */
export const TASK_FIELDS = `${STORED.replaceAll('tasks.', '')},
  promotional_credits, now_seconds, phase_seconds, accepted_seconds`;

/** The columns that a client's view of a task is made from. */
export type PublicColumns = Pick<
  Task,
  | 'id'
  | 'phase'
  | 'credits'
  | 'output_object_id'
  | 'error_code'
  | 'error_message'
  | 'created_at'
  | 'updated_at'
  | 'now_seconds'
> & { model: string; mode: Mode };

/** SQL for the admission query: the named task, if it belongs to the caller. */
export const TASK_OF_CALLER = {
  columns: `tasks.id, tasks.phase, tasks.credits, tasks.output_object_id, tasks.error_code,
       tasks.error_message, tasks.created_at, tasks.updated_at,
       tasks.request->>'model' as model, tasks.request->>'mode' as mode,
       extract(epoch from clock_now())::float8 as now_seconds`,
  joins: `left join tasks on tasks.id = caller.argument and tasks.account_id = caller.account_id
       and tasks.surface = caller.surface`,
} as const;

/** Reads tasks, in no particular order. */
export const readTasks = query<[ids: string[]], Task>(
  'task_read',
  `select ${TASK_COLUMNS} from tasks where id = any($1)`,
);

/** Reads a task that must exist. */
export async function readTask(db: Queryable, id: string): Promise<Task> {
  const [task] = await readTasks(db, [id]);
  if (!task) throw new Error(`there is no task ${id}`);
  return task;
}

/** Reads a task of an account; with null as the surface, one of any surface. */
export const readOwned = queryFirst<[id: string, accountId: string, surface: string | null], Task>(
  'task_read_owned',
  `select ${TASK_COLUMNS} from tasks
   where id = $1 and account_id = $2 and ($3::text is null or surface = $3)`,
);

/** SQL for a JSON array of the transitions of a task, the oldest first. */
export const HISTORY_OF_TASK = `(
     select coalesce(jsonb_agg(to_jsonb(h) - 'task_id' order by h.at), '[]')
     from task_history h where h.task_id = tasks.id)`;

export function publicColumns(task: Task): PublicColumns {
  return { ...task, model: task.request.model, mode: task.request.mode };
}

/** The task of an object, if its create was traced. */
export const tracedTaskOf = queryFirst<[objectId: string], { id: string; traceparent: string }>(
  'task_traced',
  `select id, traceparent from tasks
   where id = ${taskOfObject('$1')} and traceparent is not null`,
);
