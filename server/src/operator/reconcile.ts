import { type AttemptOutcome, applyOutcome } from '../attempts/apply-outcome.ts';
import {
  type Attempt,
  correctJob,
  currentAttempt,
  lockCurrentAttempt,
  takenJobs,
} from '../attempts/attempts.ts';
import { otherTaskOf, recordEvidence } from '../attempts/evidence.ts';
import { recordOrphans, removeOrphan } from '../attempts/orphans.ts';
import { type Database, type Transaction, violatedConstraint } from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import { takeLease } from '../tasks/lease.ts';
import { retryOrFail } from '../tasks/not-accepted.ts';
import { LIVE_PHASES, type Task } from '../tasks/task.ts';
import { phaseOf, requireTask } from '../tasks/task-listing.ts';
import { move } from '../tasks/transitions.ts';
import { runningConnections } from '../worker/live-workers.ts';

/**
 * What an operator knows about a task, for example from the provider's console. `failed` is
 * accepted for every task that has not ended, the others only for held tasks.
 */
export type OperatorDecision =
  | { kind: 'accepted'; jobId: string }
  | { kind: 'not_accepted' }
  | { kind: 'failed' };

/**
 * Applies an operator decision to a task. If a worker moves the task at the same time, the first to
 * commit wins and the other is refused. The reason is kept in the history and the evidence.
 * @param record called within the transaction, with the task as it was before
 * @throws UsageError when the decision does not fit the task's phase or its cause
 */
export function reconcile(
  db: Database,
  taskId: string,
  decision: OperatorDecision,
  reason: string,
  record?: (tx: Transaction, before: Task) => Promise<void>,
): Promise<{ task_id: string; phase: string }> {
  return db.transaction(async (tx) => {
    // The attempt is locked before the task, as in every transaction that records an outcome.
    const locked = await lockCurrentAttempt(tx, taskId);
    const task = await takeLease(tx, taskId, decision.kind === 'failed' ? LIVE_PHASES : ['held']);
    if (!task) throw await cannotDecideError(tx, taskId, decision);
    const attempt = await currentAttempt(tx, taskId);
    // Locking the new attempt now could deadlock: others lock an attempt before its task.
    if (attempt?.id !== locked?.id) {
      throw new UsageError(`${taskId} is being submitted right now: try again`);
    }
    if (attempt) await recordEvidence(tx, attempt.id, 'operator', { decision, reason });
    const phase = await decide(tx, task, attempt, { decision, reason });
    await record?.(tx, task);
    return { task_id: taskId, phase };
  });
}

async function cannotDecideError(
  tx: Transaction,
  taskId: string,
  { kind }: OperatorDecision,
): Promise<UsageError> {
  await requireTask(tx, taskId);
  const phase = await phaseOf(tx, taskId);
  const hasEnded = phase === 'completed' || phase === 'failed';
  const rest =
    hasEnded || kind === 'failed' ? 'there is nothing to decide' : 'it can only be ended as failed';
  return new UsageError(`${taskId} is ${phase}, not held: ${rest}`);
}

async function decide(
  tx: Transaction,
  task: Task,
  attempt: Attempt | undefined,
  { decision, reason }: { decision: OperatorDecision; reason: string },
): Promise<string> {
  const cause = { operator: reason };
  if (decision.kind === 'failed') return failTask(tx, task, attempt, cause);
  if (!attempt) throw new Error(`${task.id} is held without an attempt`);
  switch (decision.kind) {
    case 'accepted':
      return adopt(tx, task, attempt, { jobId: decision.jobId, cause });
    case 'not_accepted': {
      if (attempt.state === 'accepted') throw alreadyAcceptedError(task, attempt);
      return applyDecided(tx, task, attempt, { outcome: { kind: 'absent' }, cause });
    }
  }
}

function alreadyAcceptedError(task: Task, attempt: Attempt): UsageError {
  const { job_id: job, outcome_by: by } = attempt;
  return new UsageError(
    by === 'operator'
      ? `an operator assigned job ${job} to ${task.id}: name the right job, or end it as failed`
      : `the provider accepted ${task.id} as ${job}: it can only be ended as failed`,
  );
}

/** Applies an outcome that an operator decided. The retry time of 0 prevents another submit. */
async function applyDecided(
  tx: Transaction,
  task: Task,
  attempt: Attempt,
  decided: { outcome: AttemptOutcome; cause: Record<string, unknown> },
): Promise<string> {
  const reported = { ...decided, by: 'operator', submitRetrySeconds: 0 } as const;
  const result = await applyOutcome(tx, task, attempt, reported);
  return result === 'postponed' ? task.phase : result.phase;
}

/** Gives the task a job. An earlier job id is replaced only if an operator set it. */
async function adopt(
  tx: Transaction,
  task: Task,
  attempt: Attempt,
  { jobId, cause }: { jobId: string; cause: Record<string, unknown> },
): Promise<string> {
  const isCorrection = attempt.state === 'accepted' && attempt.outcome_by === 'operator';
  if (attempt.state === 'accepted' && !isCorrection) throw alreadyAcceptedError(task, attempt);
  await refuseTakenJob(tx, attempt, jobId);
  const decided = {
    outcome: { kind: 'accepted', jobId },
    cause: { ...cause, job: jobId },
  } as const;
  const adopting = isCorrection
    ? replaceJob(tx, task, attempt, decided)
    : applyDecided(tx, task, attempt, decided);
  const phase = await adopting.catch((error: unknown) => {
    if (violatedConstraint(error) !== 'one_attempt_per_job') throw error;
    throw jobTakenError(jobId);
  });
  await removeOrphan(tx, attempt.provider, jobId);
  return phase;
}

function jobTakenError(jobId: string): UsageError {
  return new UsageError(`job ${jobId} belongs to another task already`);
}

/**
 * Refuses a job that may be another customer's: one that belongs to a task of another connection
 * (two may share an account, whose console shows the jobs of both), or one that was named for
 * another attempt, perhaps as its orphan job.
 */
async function refuseTakenJob(tx: Transaction, attempt: Attempt, jobId: string): Promise<void> {
  const others = (await runningConnections(tx)).filter((name) => name !== attempt.provider);
  if ((await takenJobs(tx, others, [jobId])).size > 0) throw jobTakenError(jobId);
  const owner = await otherTaskOf(tx, attempt.id, attempt.provider, jobId);
  if (owner === undefined) return;
  throw new UsageError(
    `job ${jobId} was named for ${owner}, another task: its video may belong to that customer. ` +
      'Look for another job, or end the task as failed',
  );
}

async function replaceJob(
  tx: Transaction,
  task: Task,
  attempt: Attempt,
  { outcome, cause }: { outcome: { jobId: string }; cause: Record<string, unknown> },
): Promise<string> {
  await correctJob(tx, attempt.id, outcome.jobId);
  const moved = await move(tx, task, { to: 'generating', cause });
  return moved.phase;
}

/**
 * Fails and refunds the task. Jobs that evidence names for its attempt become orphan jobs, and so
 * does a job that a submit under way reports later.
 */
async function failTask(
  tx: Transaction,
  task: Task,
  attempt: Attempt | undefined,
  cause: Record<string, unknown>,
): Promise<string> {
  if (task.phase === 'held' || task.accepted_at !== null) {
    const message = 'The video could not be obtained. The credits are refunded.';
    const error = { code: failureCodeOf(task), message } as const;
    // The job is known to have made a video, which the provider charges for.
    const billed = task.provider_output === null ? {} : { providerBilled: true };
    await move(tx, task, { to: 'failed', changes: { error, ...billed }, cause });
  } else {
    // The client may still be waiting for the response to its create; this releases its key.
    await retryOrFail(tx, task, { submitRetrySeconds: 0, cause });
  }
  if (attempt) await recordOrphans(tx, attempt.id);
  return 'failed';
}

function failureCodeOf(task: Task): 'output_unavailable' | 'provider_unavailable' {
  return task.held_cause === 'acceptance' ? 'provider_unavailable' : 'output_unavailable';
}
