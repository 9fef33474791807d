import { type Queryable, statement, type Transaction } from '../../database/database.ts';
import { jsonText } from '../../database/json-text.ts';
import { newId } from '../../kernel/ids.ts';
import type { Provider } from '../../providers/provider.ts';
import type { Task } from '../task.ts';
import { Superseded } from '../transitions.ts';
import type { EvidenceSource } from './evidence.ts';
import { noteOrphans } from './orphans.ts';

/** One try to hand a task to a provider. */
export interface Attempt {
  id: string;
  provider: string;
  state: 'in_flight' | 'unknown' | 'accepted' | 'rejected' | 'not_sent' | 'absent';
  job_id: string | null;
  outcome_by: EvidenceSource | null;
  /** See {@link Provider.identity}; null of attempts that are older than it. */
  provider_identity: string | null;
  /** Seconds since `send_before`, by the database's clock: no byte leaves after that moment. */
  seconds_past_sending: number;
  /** Milliseconds since 1970, by the database's clock. */
  opened_at_ms: number;
  now_ms: number;
}

/** A submit's first byte leaves within this time of the attempt's record, or not at all. */
export const SEND_WITHIN_SECONDS = 5;

const COLUMNS = `id, provider, state, job_id, outcome_by, provider_identity,
  extract(epoch from clock_now() - send_before)::float8 as seconds_past_sending,
  extract(epoch from created_at)::float8 * 1000 as opened_at_ms,
  extract(epoch from clock_now())::float8 * 1000 as now_ms`;

const OPEN = statement(
  'attempt_open',
  `insert into attempts (id, task_id, provider, provider_identity, send_before)
   select $1, id, provider, $5, clock_now() + $4 * interval '1 second' from tasks
   where id = $2 and phase = 'submitting' and lease = $3 for update
   returning ${COLUMNS}`,
);

/**
 * Puts a new attempt on record, before any byte of it leaves.
 * @throws Superseded when the task is not this worker's any more; a unique index refuses a second
 * live attempt in any case
 */
export async function openAttempt(
  tx: Transaction,
  task: Task,
  providerIdentity: string,
): Promise<Attempt> {
  const values = [newId('attempt'), task.id, task.lease, SEND_WITHIN_SECONDS, providerIdentity];
  const [attempt] = await tx.query<Attempt>(OPEN, values);
  if (!attempt) throw new Superseded(`${task.id} is not being submitted by this worker any more`);
  return attempt;
}

const LIVE = statement(
  'attempt_live',
  `select ${COLUMNS} from attempts
   where task_id = $1 and state in ('in_flight', 'unknown', 'accepted')`,
);

/** The task's one attempt that is open, unknown or accepted. */
export async function liveAttempt(db: Queryable, taskId: string): Promise<Attempt | undefined> {
  const [attempt] = await db.query<Attempt>(LIVE, [taskId]);
  return attempt;
}

const TAKEN = statement(
  'attempt_taken_jobs',
  `select job_id from attempts where provider = $1 and job_id = any($2)
   union select job_id from orphan_jobs
     where provider = $1 and job_id = any($2) and state = 'confirmed'`,
);

/** Of these jobs of a provider, those that an attempt has already, or that are its orphans. */
export async function takenJobs(db: Queryable, provider: string, jobIds: string[]) {
  const rows = await db.query<{ job_id: string }>(TAKEN, [provider, jobIds]);
  return new Set(rows.map((row) => row.job_id));
}

const TWIN = statement(
  'attempt_twin',
  `select from attempts mine join attempts other on other.provider = mine.provider
     and other.id <> mine.id and (other.state in ('in_flight', 'unknown')
       or (other.state = 'absent' and other.outcome_by = 'operator'))
     and other.created_at <= mine.send_before + $2 * interval '1 second'
     and mine.created_at <= other.send_before + $2 * interval '1 second'
   where mine.id = $1 limit 1`,
);

/** More than any adapter allows a provider's clock to differ from ours. */
const CLOCK_SECONDS = 150;

/**
 * Whether another attempt at the same provider and of the same time is uncertain too, or absent by
 * an operator's word alone: then a job that looks like this attempt's may be the other's. What they
 * asked for is not compared: what makes jobs look alike is each provider's own.
 * @param submitTimeoutSeconds how long after `send_before` a submit may still make a job
 */
export async function hasTwin(
  db: Queryable,
  attemptId: string,
  submitTimeoutSeconds: number,
): Promise<boolean> {
  const values = [attemptId, submitTimeoutSeconds + CLOCK_SECONDS];
  return (await db.query(TWIN, values)).length > 0;
}

const RESOLVE = statement(
  'attempt_resolve',
  `update attempts set state = $2, job_id = $3, cause = $4, outcome_by = $5,
     outcome_at = clock_now()
   where id = $1 and state in ('in_flight', 'unknown') returning id`,
);

export interface AttemptOutcome {
  state: 'unknown' | 'accepted' | 'rejected' | 'not_sent' | 'absent';
  by: EvidenceSource;
  jobId?: string;
  cause?: Record<string, unknown>;
}

/**
 * Records what became of an attempt: a compare-and-set, whoever comes first. Jobs that were named
 * for it and are not its own come to light here.
 * @throws Superseded when it was resolved by somebody else
 */
export async function recordOutcome(tx: Transaction, attemptId: string, to: AttemptOutcome) {
  const cause = to.cause === undefined ? null : jsonText(to.cause);
  const rows = await tx.query(RESOLVE, [attemptId, to.state, to.jobId ?? null, cause, to.by]);
  if (rows.length === 0) throw new Superseded(`${attemptId} is resolved already`);
  if (to.state !== 'unknown') await noteOrphans(tx, attemptId);
}

const CORRECT = statement(
  'attempt_correct_job',
  `update attempts set job_id = $2, outcome_at = clock_now()
   where id = $1 and state = 'accepted' and outcome_by = 'operator'`,
);

/** Replaces the job that an operator named by mistake. */
export async function correctJob(tx: Transaction, attemptId: string, jobId: string): Promise<void> {
  await tx.query(CORRECT, [attemptId, jobId]);
}
