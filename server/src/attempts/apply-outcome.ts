import { namedStatement, statement, type Transaction, together } from '../database/database.ts';
import { jsonText } from '../database/json-text.ts';
import { RetryAlone, sharedWork } from '../database/shared-work.ts';
import { reclaimLease } from '../tasks/lease.ts';
import { type NextConnection, retryOrFail } from '../tasks/not-accepted.ts';
import type { FailureCode, Task } from '../tasks/task.ts';
import { move, moveRows, type StepResult, Superseded } from '../tasks/transitions.ts';
import type { Attempt, OutcomeSource } from './attempts.ts';
import { recordOrphans } from './orphans.ts';

/**
 * The outcome of an attempt, as the sender, a find, a callback or an operator reported it.
 * `absent`: the attempt has no job, and none can appear any more.
 */
export type AttemptOutcome =
  | { kind: 'accepted'; jobId: string }
  | { kind: 'rejected'; fault: 'request'; code: FailureCode; message: string }
  | { kind: 'rejected'; fault: 'busy' | 'operator'; retryAfterSeconds?: number }
  | { kind: 'not_sent' }
  | { kind: 'absent' }
  | { kind: 'unknown' };

interface ReportedOutcome {
  outcome: AttemptOutcome;
  by: OutcomeSource;
  /** For operators: kept in the task's history and, unless a job was accepted, with the attempt. */
  cause: Record<string, unknown>;
  submitRetrySeconds: number;
  /** The connection to try next if this one certainly did not accept the job. */
  next?: NextConnection | undefined;
}

/**
 * Records an attempt's outcome by compare-and-set and moves its task; only this file does so. All
 * code locks the attempt before the task, so that two transactions can't deadlock. The sender is
 * certain of every outcome except `unknown`, so its outcome applies even after another worker has
 * leased the task; that worker's own change is then refused.
 * @throws Superseded when the attempt has another outcome already, or when another worker has
 * leased
 *   the task and the outcome is `unknown` or not from the sender
 */
export async function applyOutcome(
  tx: Transaction,
  task: Task,
  attempt: Attempt,
  reported: ReportedOutcome,
): Promise<StepResult> {
  const { outcome, by } = reported;
  if (outcome.kind !== 'unknown' || attempt.state === 'in_flight') {
    await recordOutcome(tx, attempt.id, reported);
  }
  if (by !== 'sender' || outcome.kind === 'unknown') return moveByOutcome(tx, task, reported);
  const current = await reclaimLease(tx, task);
  const result = await moveByOutcome(tx, current, reported);
  // A reclaimed task has a lease number that no worker holds: this worker must not go on with it.
  return current === task ? result : 'postponed';
}

interface Acceptance {
  task: Task;
  attempt: Attempt;
  jobId: string;
}

// A join alone would not use the index; `id = any($1)` does.
const ACCEPT = statement(
  'attempts_accept',
  `update attempts set state = 'accepted', job_id = given.job_id, cause = null,
     outcome_by = 'sender', outcome_at = clock_now()
   from unnest($1::text[], $2::text[]) as given (id, job_id)
   where attempts.id = any($1) and attempts.id = given.id
     and attempts.state in ('in_flight', 'unknown')
   returning attempts.id`,
);

/**
 * {@link applyOutcome} for jobs that the sender saw accepted; concurrent calls share a transaction.
 * @returns undefined when another worker or outcome was faster: nothing was recorded, so call
 *   {@link applyOutcome}
 */
export const acceptShared = sharedWork<Acceptance, Task | undefined>({
  keyOf: ({ task }) => task.id,
  async work(db, items) {
    try {
      return await db.transaction((tx) => acceptAll(tx, items));
    } catch (error) {
      if (error instanceof RetryAlone && items.length === 1) return [undefined];
      throw error;
    }
  },
});

async function acceptAll(tx: Transaction, items: Acceptance[]): Promise<Task[]> {
  const ids = items.map(({ attempt }) => attempt.id);
  const moves = items.map(({ task, attempt, jobId }) => {
    const cause = { attempt: attempt.id, kind: 'accepted', jobId };
    return { task, next: { to: 'generating', cause } as const };
  });
  const [recorded, , moved] = await together(
    tx.query(ACCEPT, [ids, items.map(({ jobId }) => jobId)]),
    recordOrphans(tx, ...ids),
    moveRows(tx, moves),
  );
  const all = moved.flatMap((task, i) =>
    task ? [{ ...task, accepted_job_id: (items[i] as Acceptance).jobId }] : [],
  );
  if (recorded.length === items.length && all.length === items.length) return all;
  throw new RetryAlone('not every attempt is open, or not every task is leased');
}

const RECORD = namedStatement(
  'attempt_record_outcome',
  `update attempts set state = :state, job_id = :job, cause = :cause, outcome_by = :by,
     outcome_at = clock_now()
   where id = :attempt and state in ('in_flight', 'unknown') returning id`,
);

/** Records orphan jobs too, once the outcome is known: the attempt can no longer adopt them. */
async function recordOutcome(
  tx: Transaction,
  attemptId: string,
  { outcome, by, cause }: ReportedOutcome,
): Promise<void> {
  const isAccepted = outcome.kind === 'accepted';
  const values = RECORD.values({
    attempt: attemptId,
    state: outcome.kind,
    job: isAccepted ? outcome.jobId : null,
    cause: isAccepted ? null : jsonText(cause),
    by,
  });
  const rows = await tx.query(RECORD, values);
  if (rows.length === 0) throw new Superseded(`${attemptId} has an outcome already`);
  if (outcome.kind !== 'unknown') await recordOrphans(tx, attemptId);
}

function moveByOutcome(
  tx: Transaction,
  task: Task,
  { outcome, cause, submitRetrySeconds, next }: ReportedOutcome,
): Promise<StepResult> {
  switch (outcome.kind) {
    case 'accepted':
      return move(tx, task, { to: 'generating', cause });
    case 'unknown':
      return move(tx, task, { to: 'held', changes: { heldCause: 'acceptance' }, cause });
    case 'not_sent':
      return retryOrFail(tx, task, { submitRetrySeconds, cause, next });
    case 'absent':
      return retryOrFail(tx, task, { submitRetrySeconds, cause });
    case 'rejected': {
      if (outcome.fault !== 'request') {
        const { retryAfterSeconds } = outcome;
        return retryOrFail(tx, task, { submitRetrySeconds, cause, retryAfterSeconds, next });
      }
      const { code, message } = outcome;
      return move(tx, task, { to: 'failed', changes: { error: { code, message } }, cause });
    }
  }
}
