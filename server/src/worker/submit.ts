import { acceptShared, applyOutcome } from '../attempts/apply-outcome.ts';
import {
  type Attempt,
  insertAttempt,
  readCurrentAttempt,
  SEND_WITHIN_SECONDS,
} from '../attempts/attempts.ts';
import { recordEvidence } from '../attempts/evidence.ts';
import { type FindDeps, findJobOf } from '../attempts/find-job.ts';
import { inputsFor, jobSpecOf } from '../attempts/job-spec.ts';
import { recordOrphans } from '../attempts/orphans.ts';
import { DatabaseClosed, isDatabaseUnavailable, violatedConstraint } from '../database/database.ts';
import type { Log } from '../kernel/log.ts';
import type { Moderation } from '../moderation/moderate.ts';
import type { ProviderBreaker } from '../providers/circuit-breaker/breaker.ts';
import type { Provider, SubmitOutcome } from '../providers/provider.ts';
import type { Routing } from '../routing/routing.ts';
import { awaitProvider, retryOrFail } from '../tasks/not-accepted.ts';
import type { Task } from '../tasks/task.ts';
import { type StepResult, Superseded } from '../tasks/transitions.ts';
import { nextConnection } from './next-connection.ts';

export interface SubmitStepDeps extends FindDeps {
  breaker: Pick<ProviderBreaker, 'enter'>;
  routing: Pick<Routing, 'next' | 'modelIdOf'>;
  /** undefined: nothing checks requests. */
  moderation?: Pick<NonNullable<Moderation>, 'admit'> | undefined;
  monotonic(): number;
  /** Milliseconds. Keeps running while the machine is suspended, unlike `monotonic`. */
  wallClock(): number;
  pause(seconds: number): Promise<void>;
}

/**
 * Submits a task once. If another worker died with an attempt in flight, nothing is sent again: the
 * provider is asked for the attempt's job, and an inconclusive find holds the task.
 */
export async function submitTask(deps: SubmitStepDeps, task: Task): Promise<StepResult> {
  const inFlight = task.is_unattempted ? undefined : await readCurrentAttempt(deps.db, task.id);
  if (inFlight) return findJobOf(deps, task, inFlight);
  const admitted = (await deps.moderation?.admit(task)) ?? 'admitted';
  if (admitted !== 'admitted') return admitted;
  let provider: Provider;
  try {
    provider = deps.providerOf(task);
  } catch (error) {
    const { submitRetrySeconds } = deps;
    const options = {
      submitRetrySeconds,
      cause: { failure: String(error) },
      next: nextConnection(deps.routing, task),
    };
    return deps.db.transaction((tx) => retryOrFail(tx, task, options));
  }
  const entry = await deps.breaker.enter(task.provider);
  if (entry.kind === 'refused') {
    const { submitRetrySeconds } = deps;
    const blocked = { ...entry, submitRetrySeconds, next: nextConnection(deps.routing, task) };
    return deps.db.transaction((tx) => awaitProvider(tx, task, blocked));
  }
  return submitNow(deps, task, provider).finally(entry.end);
}

async function submitNow(
  deps: SubmitStepDeps,
  task: Task,
  provider: Provider,
): Promise<StepResult> {
  // A failure is ignored here: the submit will hit it too and report it as its outcome.
  await provider.prepare?.(await inputsFor(deps, task)).catch(() => {});
  // The clock starts before the attempt is recorded, so the time ends no later than `send_before`.
  const mayStillSend = startTimeLimit(deps, SEND_WITHIN_SECONDS);
  const modelId = deps.routing.modelIdOf(task.request, provider.name);
  const attempt = await insertAttempt(deps.db, task, provider.identity, modelId);
  const jobSpec = await jobSpecOf(deps, task, attempt);
  const outcome = await Promise.try(() => provider.submit(jobSpec, mayStillSend)).catch(
    (error): SubmitOutcome => ({ kind: 'unknown', cause: String(error) }),
  );
  logOutcome(deps.log, outcome, { task: task.id, attempt: attempt.id, provider: provider.name });
  return record(deps, task, attempt, outcome);
}

/**
 * @returns says whether time is left by both clocks: the monotonic one stops while the machine is
 *   suspended, and the wall clock may be set back
 */
function startTimeLimit(
  { monotonic, wallClock }: Pick<SubmitStepDeps, 'monotonic' | 'wallClock'>,
  seconds: number,
): () => boolean {
  const ends = [monotonic, wallClock].map((clock) => ({ clock, end: clock() + seconds * 1000 }));
  return () => ends.every(({ clock, end }) => clock() < end);
}

function logOutcome(log: Log, outcome: SubmitOutcome, ids: object): void {
  if (outcome.kind === 'unknown') {
    log.warn({ ...ids, cause: outcome.cause }, 'unknown whether the provider accepted a task');
  }
  if (outcome.kind === 'rejected' && outcome.fault === 'operator') {
    const message = 'the provider rejected a task: fix the API key, balance or model';
    log.error({ ...ids, cause: outcome.cause }, message);
  }
}

/** Retries while the database is down: the provider reports an outcome only once. */
async function record(
  deps: SubmitStepDeps,
  task: Task,
  attempt: Attempt,
  outcome: SubmitOutcome,
): Promise<StepResult> {
  try {
    return await whenReachable(deps, () => recordOnce(deps, task, attempt, outcome));
  } catch (failure) {
    if (failure instanceof Superseded) await recordLateOutcome(deps, attempt, outcome);
    if (failure instanceof Superseded || outcome.kind !== 'accepted') throw failure;
    const { jobId } = outcome;
    if (violatedConstraint(failure) === 'one_attempt_per_job') {
      const cause = `${jobId} belongs to another attempt already`;
      return record(deps, task, attempt, { kind: 'unknown', cause });
    }
    const message = `job ${jobId} of ${attempt.id} was accepted, but it could not be recorded`;
    throw new Error(message, { cause: failure });
  }
}

async function recordOnce(
  deps: SubmitStepDeps,
  task: Task,
  attempt: Attempt,
  outcome: SubmitOutcome,
): Promise<StepResult> {
  if (outcome.kind === 'accepted') {
    const { jobId } = outcome;
    const accepted = await acceptShared(deps.db, { task, attempt, jobId });
    if (accepted) return accepted;
  }
  const { submitRetrySeconds } = deps;
  return deps.db.transaction(async (tx) => {
    if (outcome.kind === 'unknown') await recordEvidence(tx, attempt.id, 'sender', outcome);
    const cause = { attempt: attempt.id, ...outcome };
    const reported = { outcome, by: 'sender', cause, submitRetrySeconds } as const;
    return applyOutcome(tx, task, attempt, {
      ...reported,
      next: nextConnection(deps.routing, task),
    });
  });
}

const RECORD_PAUSE_SECONDS = 0.5;

async function whenReachable<T>(deps: SubmitStepDeps, work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const isClosed = error instanceof DatabaseClosed; // the process shuts down
      if (isClosed || !isDatabaseUnavailable(error)) throw error;
      await deps.pause(RECORD_PAUSE_SECONDS);
    }
  }
}

/**
 * Records an outcome as evidence only, since the task has moved on. An accepted job that is not the
 * task's becomes an orphan job.
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
