import { type Queryable, statement, type Transaction } from '../kernel/database.ts';
import { newId } from '../kernel/ids.ts';
import type { Task } from './task.ts';
import { Superseded } from './transitions.ts';

/** One try to hand a task to a provider. */
export interface Attempt {
  id: string;
  provider: string;
  state: 'open' | 'unknown' | 'accepted' | 'rejected' | 'not_sent' | 'absent';
  job_id: string | null;
  /** Seconds since `send_before`, by the database's clock: no byte leaves after that moment. */
  seconds_past_sending: number;
  /** Milliseconds since 1970, by the database's clock. */
  opened_at_ms: number;
  now_ms: number;
}

/** A submit's first byte leaves within this time of the attempt's record, or not at all. */
export const SEND_WITHIN_SECONDS = 5;

const COLUMNS = `id, provider, state, job_id,
  extract(epoch from clock_now() - send_before)::float8 as seconds_past_sending,
  extract(epoch from created_at)::float8 * 1000 as opened_at_ms,
  extract(epoch from clock_now())::float8 * 1000 as now_ms`;

const OPEN = statement(
  'attempt_open',
  `insert into attempts (id, task_id, provider, send_before)
   select $1, id, provider, clock_now() + $4 * interval '1 second' from tasks
   where id = $2 and phase = 'submitting' and lease = $3 for update
   returning ${COLUMNS}`,
);

/**
 * Puts a new attempt on record, before any byte of it leaves.
 * @throws Superseded when the task is not this worker's any more; a unique index refuses a second
 * live attempt in any case
 */
export async function openAttempt(tx: Transaction, task: Task): Promise<Attempt> {
  const values = [newId('attempt'), task.id, task.lease, SEND_WITHIN_SECONDS];
  const [attempt] = await tx.query<Attempt>(OPEN, values);
  if (!attempt) throw new Superseded(`${task.id} is not being submitted by this worker any more`);
  return attempt;
}

const LIVE = statement(
  'attempt_live',
  `select ${COLUMNS} from attempts where task_id = $1 and state in ('open', 'unknown', 'accepted')`,
);

/** The task's one attempt that is open, unknown or accepted. */
export async function liveAttempt(db: Queryable, taskId: string): Promise<Attempt | undefined> {
  const [attempt] = await db.query<Attempt>(LIVE, [taskId]);
  return attempt;
}

const TAKEN = statement(
  'attempt_taken_jobs',
  'select job_id from attempts where provider = $1 and job_id = any($2)',
);

/** Of these jobs of a provider, those that an attempt has already. */
export async function takenJobs(db: Queryable, provider: string, jobIds: string[]) {
  const rows = await db.query<{ job_id: string }>(TAKEN, [provider, jobIds]);
  return new Set(rows.map((row) => row.job_id));
}

const RESOLVE = statement(
  'attempt_resolve',
  `update attempts set state = $2, job_id = $3, cause = $4, resolved_at = clock_now()
   where id = $1 and state in ('open', 'unknown') returning id`,
);

export interface Resolution {
  state: 'unknown' | 'accepted' | 'rejected' | 'not_sent' | 'absent';
  jobId?: string;
  cause?: Record<string, unknown>;
}

/**
 * Records what became of an attempt: a compare-and-set, whoever comes first.
 * @throws Superseded when it was resolved by somebody else
 */
export async function resolveAttempt(tx: Transaction, attemptId: string, to: Resolution) {
  const cause = to.cause === undefined ? null : JSON.stringify(to.cause);
  const rows = await tx.query(RESOLVE, [attemptId, to.state, to.jobId ?? null, cause]);
  if (rows.length === 0) throw new Superseded(`${attemptId} is resolved already`);
}
