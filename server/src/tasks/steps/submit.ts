import {
  isDatabaseUnavailable,
  type Transaction,
  violatedConstraint,
} from '../../database/database.ts';
import type { Log } from '../../kernel/log.ts';
import type { JobSpec, Provider, SubmitOutcome } from '../../providers/provider.ts';
import {
  type Attempt,
  type AttemptOutcome,
  liveAttempt,
  openAttempt,
  recordOutcome,
  SEND_WITHIN_SECONDS,
} from '../attempts/attempts.ts';
import { noteEvidence } from '../attempts/evidence.ts';
import { type FindDeps, findJob, holdForEvidence } from '../attempts/find-job.ts';
import { inputsFor, jobSpecOf } from '../attempts/job-spec.ts';
import { notAccepted } from '../attempts/not-accepted.ts';
import { noteOrphans } from '../attempts/orphans.ts';
import { takeBack } from '../lease.ts';
import type { Task } from '../task.ts';
import { move, type Next, Superseded } from '../transitions.ts';

export interface SubmitDeps extends FindDeps {
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
export async function submit(deps: SubmitDeps, task: Task): Promise<Next> {
  const left = await liveAttempt(deps.db, task.id);
  if (left) return findJob(deps, task, left);
  let provider: Provider;
  try {
    provider = deps.providerOf(task);
  } catch (error) {
    const cause = { failure: String(error) };
    return deps.db.transaction((tx) => notAccepted(tx, task, { ...deps, cause }));
  }
  await provider.prepare?.(inputsFor(deps, task)).catch(() => {}); // the submit will tell
  const askedAt = deps.monotonic();
  const attempt = await deps.db.transaction((tx) => openAttempt(tx, task, provider.identity));
  // Counted from before the record was made, so this clock runs out no later than send_before.
  const mayStillSend = () => deps.monotonic() - askedAt < SEND_WITHIN_SECONDS * 1000;
  const jobSpec = jobSpecOf(deps, task, attempt);
  const outcome = await submitOnce(provider, jobSpec, mayStillSend);
  tell(deps.log, outcome, { task: task.id, attempt: attempt.id, provider: provider.name });
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
function tell(log: Log, outcome: SubmitOutcome, who: object): void {
  if (outcome.kind === 'unknown') {
    log.warn({ ...who, cause: outcome.cause }, 'it is not known whether the provider took a task');
  }
  if (outcome.kind === 'rejected' && outcome.fault === 'operator') {
    log.error({ ...who, cause: outcome.cause }, 'the provider takes no tasks until this is mended');
  }
}

/** Makes sure that an answer is not forgotten: it can't be had again. */
async function record(
  deps: SubmitDeps,
  task: Task,
  attempt: Attempt,
  outcome: SubmitOutcome,
): Promise<Next> {
  try {
    return await whenReachable(deps, () =>
      deps.db.transaction((tx) => recordAndFollow(deps, tx, task, { attempt, outcome })),
    );
  } catch (failure) {
    if (failure instanceof Superseded) await comeTooLate(deps, attempt, outcome);
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

async function whenReachable<T>(deps: SubmitDeps, work: () => Promise<T>): Promise<T> {
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
async function comeTooLate(
  deps: SubmitDeps,
  attempt: Attempt,
  outcome: SubmitOutcome,
): Promise<void> {
  const finding = outcome.kind === 'accepted' ? { job: outcome.jobId, verified: true } : outcome;
  await whenReachable(deps, () =>
    deps.db.transaction(async (tx) => {
      await noteEvidence(tx, attempt.id, 'sender', finding);
      await noteOrphans(tx, attempt.id);
    }),
  );
}

type KnownOutcome = Exclude<SubmitOutcome, { kind: 'unknown' }>;

/** What is known for certain is recorded whoever holds the task now: nobody knows better. */
async function recordAndFollow(
  deps: SubmitDeps,
  tx: Transaction,
  task: Task,
  { attempt, outcome }: { attempt: Attempt; outcome: SubmitOutcome },
): Promise<Next> {
  const cause = { attempt: attempt.id, ...outcome };
  if (outcome.kind === 'unknown') {
    await noteEvidence(tx, attempt.id, 'sender', outcome);
    return holdForEvidence(tx, task, attempt, { by: 'sender', cause });
  }
  await recordOutcome(tx, attempt.id, attemptOutcomeOf(outcome, cause));
  const current = await takeBack(tx, task);
  const next = await follow(deps, tx, current, outcome, cause);
  return current === task ? next : 'rest';
}

function attemptOutcomeOf(outcome: KnownOutcome, cause: Record<string, unknown>): AttemptOutcome {
  return outcome.kind === 'accepted'
    ? { state: 'accepted', by: 'sender', jobId: outcome.jobId }
    : { state: outcome.kind, by: 'sender', cause };
}

async function follow(
  deps: SubmitDeps,
  tx: Transaction,
  task: Task,
  outcome: KnownOutcome,
  cause: { attempt: string },
): Promise<Next> {
  switch (outcome.kind) {
    case 'accepted':
      return move(tx, task, { to: 'generating', cause });
    case 'not_sent':
      return notAccepted(tx, task, { ...deps, cause });
    case 'rejected': {
      if (outcome.fault !== 'request') {
        const { retryAfterSeconds } = outcome;
        return notAccepted(tx, task, { ...deps, cause, retryAfterSeconds });
      }
      const { code, message } = outcome;
      return move(tx, task, { to: 'failed', changes: { error: { code, message } }, cause });
    }
  }
}
