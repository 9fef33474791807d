import {
  isDatabaseUnavailable,
  type Transaction,
  violatedConstraint,
} from '../../database/database.ts';
import type { Log } from '../../kernel/log.ts';
import type { JobSpec, Provider, SubmitOutcome } from '../../providers/provider.ts';
import { applyOutcome } from '../attempts/apply-outcome.ts';
import {
  type Attempt,
  insertAttempt,
  liveAttempt,
  SEND_WITHIN_SECONDS,
} from '../attempts/attempts.ts';
import { recordEvidence } from '../attempts/evidence.ts';
import { type FindDeps, findJobOf } from '../attempts/find-job.ts';
import { inputsFor, jobSpecOf } from '../attempts/job-spec.ts';
import { notAccepted } from '../attempts/not-accepted.ts';
import { recordOrphans } from '../attempts/orphans.ts';
import type { Task } from '../task.ts';
import { type StepResult, Superseded } from '../transitions.ts';

export interface SubmitStepDeps extends FindDeps {
  log: Log;
  /** Monotonic milliseconds of this process. */
  monotonic(): number;
  /** Waits before the next try to record something. */
  pause(seconds: number): Promise<void>;
}

/**
 * Hands a task to its provider, once. An attempt that another worker left behind is never sent
 * again: it is looked up first, and held when the look-up can't tell.
 */
export async function submitTask(deps: SubmitStepDeps, task: Task): Promise<StepResult> {
  const left = await liveAttempt(deps.db, task.id);
  if (left) return findJobOf(deps, task, left);
  let provider: Provider;
  try {
    provider = deps.providerOf(task);
  } catch (error) {
    const { submitRetrySeconds } = deps;
    const cause = { failure: String(error) };
    return deps.db.transaction((tx) => notAccepted(tx, task, { submitRetrySeconds, cause }));
  }
  await provider.prepare?.(inputsFor(deps, task)).catch(() => {}); // the submit will tell
  const askedAt = deps.monotonic();
  const attempt = await deps.db.transaction((tx) => insertAttempt(tx, task, provider.identity));
  // Counted from before the record was made, so this clock runs out no later than send_before.
  const mayStillSend = () => deps.monotonic() - askedAt < SEND_WITHIN_SECONDS * 1000;
  const jobSpec = jobSpecOf(deps, task, attempt);
  const outcome = await submitOnce(provider, jobSpec, mayStillSend);
  logOutcome(deps.log, outcome, { task: task.id, attempt: attempt.id, provider: provider.name });
  return record(deps, task, attempt, outcome);
}

async function submitOnce(
  provider: Provider,
  jobSpec: JobSpec,
  mayStillSend: () => boolean,
): Promise<SubmitOutcome> {
  try {
    return await provider.submit(jobSpec, mayStillSend);
  } catch (error) {
    return { kind: 'unknown', cause: String(error) };
  }
}

/** What an operator should know of at once. */
function logOutcome(log: Log, outcome: SubmitOutcome, who: object): void {
  if (outcome.kind === 'unknown') {
    log.warn({ ...who, cause: outcome.cause }, 'it is not known whether the provider took a task');
  }
  if (outcome.kind === 'rejected' && outcome.fault === 'operator') {
    log.error({ ...who, cause: outcome.cause }, 'the provider takes no tasks until this is mended');
  }
}

/** Makes sure that an answer is not forgotten: it can't be had again. */
async function record(
  deps: SubmitStepDeps,
  task: Task,
  attempt: Attempt,
  outcome: SubmitOutcome,
): Promise<StepResult> {
  try {
    return await whenReachable(deps, () =>
      deps.db.transaction((tx) => applySubmitOutcome(deps, tx, task, { attempt, outcome })),
    );
  } catch (failure) {
    if (failure instanceof Superseded) await recordLateOutcome(deps, attempt, outcome);
    if (failure instanceof Superseded || outcome.kind !== 'accepted') throw failure;
    const { jobId } = outcome;
    if (violatedConstraint(failure) === 'one_attempt_per_job') {
      return record(deps, task, attempt, { kind: 'unknown', cause: `${jobId} is taken already` });
    }
    const words = `job ${jobId} of ${attempt.id} was accepted and could not be recorded`;
    throw new Error(words, { cause: failure });
  }
}

/** How long the record of an answer is tried while the database is away. */
const RECORD_SECONDS = 120;
const RECORD_PAUSE_SECONDS = 0.5;

async function whenReachable<T>(deps: SubmitStepDeps, work: () => Promise<T>): Promise<T> {
  const startedAt = deps.monotonic();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const isLate = deps.monotonic() - startedAt > RECORD_SECONDS * 1000;
      if (isLate || !isDatabaseUnavailable(error)) throw error;
      await deps.pause(RECORD_PAUSE_SECONDS);
    }
  }
}

/**
 * The task is past the question; what the sender knows is evidence all the same. A job was found
 * already, or it is an orphan.
 */
async function recordLateOutcome(
  deps: SubmitStepDeps,
  attempt: Attempt,
  outcome: SubmitOutcome,
): Promise<void> {
  const finding = outcome.kind === 'accepted' ? { job: outcome.jobId, verified: true } : outcome;
  await whenReachable(deps, () =>
    deps.db.transaction(async (tx) => {
      await recordEvidence(tx, attempt.id, 'sender', finding);
      await recordOrphans(tx, attempt.id);
    }),
  );
}

async function applySubmitOutcome(
  { submitRetrySeconds }: SubmitStepDeps,
  tx: Transaction,
  task: Task,
  { attempt, outcome }: { attempt: Attempt; outcome: SubmitOutcome },
): Promise<StepResult> {
  if (outcome.kind === 'unknown') await recordEvidence(tx, attempt.id, 'sender', outcome);
  const cause = { attempt: attempt.id, ...outcome };
  return applyOutcome(tx, task, attempt, { outcome, by: 'sender', cause, submitRetrySeconds });
}
