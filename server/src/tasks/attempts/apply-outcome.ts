import { namedStatement, type Transaction } from '../../database/database.ts';
import { jsonText } from '../../database/json-text.ts';
import { reclaimLease } from '../lease.ts';
import type { FailureCode, Task } from '../task.ts';
import { move, type StepResult, Superseded } from '../transitions.ts';
import type { Attempt } from './attempts.ts';
import type { EvidenceSource } from './evidence.ts';
import { notAccepted } from './not-accepted.ts';
import { recordOrphans } from './orphans.ts';

/**
 * What became of an attempt, whether its sender, a find, a callback or an operator learned it.
 * `absent`: there is no job of it and none can appear.
 */
export type AttemptOutcome =
  | { kind: 'accepted'; jobId: string }
  | { kind: 'rejected'; fault: 'request'; code: FailureCode; message: string }
  | { kind: 'rejected'; fault: 'busy' | 'operator'; retryAfterSeconds?: number }
  | { kind: 'not_sent' }
  | { kind: 'absent' }
  | { kind: 'unknown' };

interface KnownOutcome {
  outcome: AttemptOutcome;
  by: EvidenceSource;
  /** For operators: kept in the task's history and, unless a job was accepted, with the attempt. */
  cause: Record<string, unknown>;
  submitRetrySeconds: number;
}

/**
 * The one place that records an attempt's outcome, by compare-and-set, and makes its task follow:
 * accepted, it generates; unknown, it is held; a faulty request fails; otherwise see
 * {@link notAccepted}. The attempt is locked before the task, as everywhere.
 *
 * The sender is certain of every outcome but `unknown`, so its outcome applies even after another
 * worker has leased the task; that worker's own change is then refused.
 * @throws Superseded when the attempt has another outcome already, or somebody else has the task
 */
export async function applyOutcome(
  tx: Transaction,
  task: Task,
  attempt: Attempt,
  known: KnownOutcome,
): Promise<StepResult> {
  const { outcome, by } = known;
  if (outcome.kind !== 'unknown' || attempt.state === 'in_flight') {
    await recordOutcome(tx, attempt.id, known);
  }
  if (by !== 'sender' || outcome.kind === 'unknown') return followOutcome(tx, task, known);
  const current = await reclaimLease(tx, task);
  const result = await followOutcome(tx, current, known);
  return current === task ? result : 'postponed';
}

const RECORD = namedStatement(
  'attempt_record_outcome',
  ['attempt', 'state', 'job', 'cause', 'by'],
  `update attempts set state = :state, job_id = :job, cause = :cause, outcome_by = :by,
     outcome_at = clock_now()
   where id = :attempt and state in ('in_flight', 'unknown') returning id`,
);

/** Jobs that were named for the attempt and are not its own are orphans from now on. */
async function recordOutcome(
  tx: Transaction,
  attemptId: string,
  { outcome, by, cause }: KnownOutcome,
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

function followOutcome(
  tx: Transaction,
  task: Task,
  { outcome, cause, submitRetrySeconds }: KnownOutcome,
): Promise<StepResult> {
  switch (outcome.kind) {
    case 'accepted':
      return move(tx, task, { to: 'generating', cause });
    case 'unknown':
      return move(tx, task, { to: 'held', changes: { heldCause: 'acceptance' }, cause });
    case 'not_sent':
    case 'absent':
      return notAccepted(tx, task, { submitRetrySeconds, cause });
    case 'rejected': {
      if (outcome.fault !== 'request') {
        const { retryAfterSeconds } = outcome;
        return notAccepted(tx, task, { submitRetrySeconds, cause, retryAfterSeconds });
      }
      const { code, message } = outcome;
      return move(tx, task, { to: 'failed', changes: { error: { code, message } }, cause });
    }
  }
}
