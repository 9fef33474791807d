// The room attempts/: whether a provider got a task's job. Each submit is an attempt, recorded
// before the call. Evidence from the sender, finds, callbacks and operators settles its outcome
// (docs/ARCHITECTURE.md, "Held tasks").

import {
  command,
  type Database,
  first,
  type Queryable,
  queryFirst,
  statement,
  type Transaction,
  whether,
} from '../database/database.ts';
import { NO_RECOVERY } from '../database/lineage.ts';
import { sharedWork } from '../database/shared-work.ts';
import { newId } from '../kernel/ids.ts';
import type { Provider } from '../providers/provider.ts';
import type { Task } from '../tasks/task.ts';
import { Superseded } from '../tasks/transitions.ts';
import type { EvidenceSource } from './evidence.ts';

/** What an outcome is based on. `assumption`: the operator's setting to assume absence. */
export type OutcomeSource = EvidenceSource | 'assumption';

/** One try to hand a task to a provider. */
export interface Attempt {
  id: string;
  provider: string;
  /** `replaced`: its job failed, and the task was tried again elsewhere. */
  state: 'in_flight' | 'unknown' | 'accepted' | 'replaced' | 'rejected' | 'not_sent' | 'absent';
  job_id: string | null;
  outcome_by: OutcomeSource | null;
  /** See {@link Provider.identity}; null for one that stands in for attempts lost in a restore. */
  provider_identity: string | null;
  /** The provider's own id of the model, if a route named it. */
  provider_model: string | null;
  /** Since `send_before`, the last moment to submit (database clock); negative before it. */
  seconds_since_deadline: number;
  /** Milliseconds since 1970, by the database's clock. */
  created_at_ms: number;
  now_ms: number;
}

/**
 * A submit's first byte is sent within this time of recording the attempt, or never. So a find
 * knows when no new job can appear.
 */
export const SEND_WITHIN_SECONDS = 5;

const COLUMNS = `id, provider, state, job_id, outcome_by, provider_identity, provider_model,
  extract(epoch from clock_now() - send_before)::float8 as seconds_since_deadline,
  extract(epoch from created_at)::float8 * 1000 as created_at_ms,
  extract(epoch from clock_now())::float8 * 1000 as now_ms`;

const INSERT = statement(
  'attempt_insert',
  `insert into attempts (id, task_id, provider, provider_identity, provider_model, send_before)
   select given.id, tasks.id, tasks.provider, given.identity, given.model,
     clock_now() + interval '${SEND_WITHIN_SECONDS} seconds'
   from tasks join unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[])
     as given (task_id, id, lease, identity, model) on given.task_id = tasks.id
   where tasks.id = any($1) and tasks.phase = 'submitting' and tasks.lease = given.lease
     and ${NO_RECOVERY} for update of tasks
   returning ${COLUMNS}`,
);

interface NewAttempt {
  id: string;
  task: Task;
  identity: string;
  modelId: string | undefined;
}

const insertShared = sharedWork<NewAttempt, Attempt | undefined>({
  keyOf: ({ task }) => task.id,
  async work(db, items) {
    const rows = await db.query<Attempt>(INSERT, [
      items.map(({ task }) => task.id),
      items.map(({ id }) => id),
      items.map(({ task }) => task.lease),
      items.map(({ identity }) => identity),
      items.map(({ modelId }) => modelId ?? null),
    ]);
    return items.map(({ id }) => rows.find((row) => row.id === id));
  },
});

/**
 * Commits before any byte of the attempt is sent. A unique index ensures that at most one attempt
 * of a task is in flight, unknown or accepted.
 * @throws Superseded when this worker no longer has the task's lease
 */
export async function insertAttempt(
  db: Database,
  task: Task,
  identity: string,
  modelId?: string,
): Promise<Attempt> {
  const attempt = await insertShared(db, { id: newId('attempt'), task, identity, modelId });
  if (!attempt) {
    const reason = 'it lost the lease, the task has another phase, or a recovery is under way';
    throw new Superseded(`this worker can't submit ${task.id} any more: ${reason}`);
  }
  return attempt;
}

const CURRENT = statement(
  'attempt_current',
  `select task_id, ${COLUMNS} from attempts
   where task_id = any($1) and state in ('in_flight', 'unknown', 'accepted')`,
);

/** The task's only attempt that is in flight, unknown or accepted. */
export async function currentAttempt(db: Queryable, taskId: string): Promise<Attempt | undefined> {
  return first<Attempt>(db, CURRENT, [[taskId]]);
}

/** {@link currentAttempt}, locked. */
export const lockCurrentAttempt = queryFirst<[taskId: string], Attempt, Transaction>(
  'attempt_lock_current',
  `select ${COLUMNS} from attempts
   where task_id = $1 and state in ('in_flight', 'unknown', 'accepted') for update`,
);

const IDS = statement(
  'attempt_ids_of_tasks',
  'select id, job_id from attempts where task_id = any($1)',
);

export async function attemptsOf(
  db: Queryable,
  taskIds: string[],
): Promise<{ attemptIds: string[]; jobIds: string[] }> {
  const rows = await db.query<{ id: string; job_id: string | null }>(IDS, [taskIds]);
  return {
    attemptIds: rows.map(({ id }) => id),
    jobIds: rows.flatMap(({ job_id: job }) => job ?? []),
  };
}

/** {@link currentAttempt}; calls that arrive together share a statement. */
export const readCurrentAttempt = sharedWork<string, Attempt | undefined>({
  keyOf: (taskId) => taskId,
  async work(db, taskIds) {
    const rows = await db.query<Attempt & { task_id: string }>(CURRENT, [taskIds]);
    return taskIds.map((taskId) => rows.find((row) => row.task_id === taskId));
  },
});

const TAKEN = statement(
  'attempt_taken_jobs',
  `select job_id from attempts where provider = any($1) and job_id = any($2)
   union select job_id from orphan_jobs
     where provider = any($1) and job_id = any($2) and state = 'confirmed'`,
);

/** Which of these jobs belong to an attempt already, or are confirmed orphan jobs. */
export async function takenJobs(db: Queryable, providers: readonly string[], jobIds: string[]) {
  const rows = await db.query<{ job_id: string }>(TAKEN, [providers, jobIds]);
  return new Set(rows.map((row) => row.job_id));
}

const overlapsAnother = whether<
  [attemptId: string, withinSeconds: number, providers: readonly string[]]
>(
  'attempt_overlapping',
  `select from attempts mine join attempts other on other.provider = any($3)
     and other.id <> mine.id
     and (other.state in ('in_flight', 'unknown')
       or (other.state = 'absent' and other.outcome_by in ('operator', 'assumption')))
     and other.created_at <= mine.send_before + $2 * interval '1 second'
     and other.send_before >= mine.created_at - $2 * interval '1 second'
   where mine.id = $1 limit 1`,
);

/** Every adapter allows a provider's clock to differ from the database's by less than this. */
const MAX_CLOCK_DIFFERENCE_SECONDS = 150;

/**
 * Whether another attempt may own a job that looks like this attempt's: sent to one of these
 * connections at about the same time, in flight, unknown, or absent only by an operator's decision
 * or policy. The job specs are not compared, because each adapter compares jobs in its own way.
 * @param submitTimeoutSeconds how long after `send_before` a submit may still create a job
 */
export function hasOverlappingAttempt(
  db: Queryable,
  attemptId: string,
  submitTimeoutSeconds: number,
  providers: readonly string[],
): Promise<boolean> {
  const withinSeconds = submitTimeoutSeconds + MAX_CLOCK_DIFFERENCE_SECONDS;
  return overlapsAnother(db, attemptId, withinSeconds, providers);
}

/** Replaces a wrong job id that an operator gave. */
export const correctJob = command<[attemptId: string, jobId: string], Transaction>(
  'attempt_correct_job',
  `update attempts set job_id = $2, outcome_at = clock_now()
   where id = $1 and state = 'accepted' and outcome_by = 'operator'`,
);
