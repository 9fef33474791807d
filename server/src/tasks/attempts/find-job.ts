import type { Database, Transaction } from '../../database/database.ts';
import type { FindOutcome, Provider } from '../../providers/provider.ts';
import type { Task } from '../task.ts';
import { postpone, type StepResult } from '../transitions.ts';
import { type AttemptOutcome, applyOutcome } from './apply-outcome.ts';
import { type Attempt, currentAttempt, hasOverlappingAttempt, takenJobs } from './attempts.ts';
import {
  type EvidenceSource,
  isNamedElsewhere,
  type NamedJob,
  namedJobs,
  recordEvidence,
} from './evidence.ts';
import type { FirstSeen } from './first-seen.ts';
import { findJobInput, type JobSpecDeps } from './job-spec.ts';

export interface FindDeps extends JobSpecDeps {
  db: Database;
  providerOf(task: Task): Provider;
  submitRetrySeconds: number;
  reconcileSeconds: number;
  firstSeen: FirstSeen;
}

/** The result of a find. The outcome is `unknown` when the find was inconclusive. */
interface Finding {
  outcome: Extract<AttemptOutcome, { kind: 'accepted' | 'absent' | 'unknown' }>;
  by: EvidenceSource;
  /** The callback or the provider's result behind it, kept as evidence. */
  found: object;
}

/** The step of a task that is held because its acceptance is not known. */
export async function findHeldJob(deps: FindDeps, task: Task): Promise<StepResult> {
  const attempt = await currentAttempt(deps.db, task.id);
  if (!attempt) throw new Error(`${task.id} is held without an attempt`);
  return findJobOf(deps, task, attempt);
}

/**
 * Finds the job of an attempt whose outcome is not known: one that was in flight when its worker
 * died, or the one of a held task. It never guesses and never submits again.
 */
export async function findJobOf(deps: FindDeps, task: Task, attempt: Attempt): Promise<StepResult> {
  if (attempt.state === 'accepted') throw new Error(`${attempt.id} has a job already`);
  const finding = await findOwnJob(deps, task, attempt).catch(async (failure: unknown) => {
    await recordEvidence(deps.db, attempt.id, 'find', { failure: String(failure) });
    throw failure;
  });
  return deps.db.transaction(async (tx) => {
    await recordEvidence(tx, attempt.id, 'find', finding.found);
    return applyFinding(deps, tx, task, { attempt, finding });
  });
}

function applyFinding(
  { submitRetrySeconds, reconcileSeconds }: FindDeps,
  tx: Transaction,
  task: Task,
  { attempt, finding }: { attempt: Attempt; finding: Finding },
): Promise<StepResult> {
  const { outcome, by, found } = finding;
  if (outcome.kind === 'unknown' && task.phase === 'held') {
    return postpone(tx, task, { seconds: delaySeconds(reconcileSeconds, task) });
  }
  const job = outcome.kind === 'accepted' ? { job: outcome.jobId } : {};
  const cause = { attempt: attempt.id, find: found, ...job };
  return applyOutcome(tx, task, attempt, { outcome, by, cause, submitRetrySeconds });
}

/** Finds use up a shared rate budget, so they become rarer in time; a callback wakes the task. */
function delaySeconds(reconcileSeconds: number, task: Task): number {
  return Math.max(reconcileSeconds, task.phase_seconds / 60);
}

async function findOwnJob(deps: FindDeps, task: Task, attempt: Attempt): Promise<Finding> {
  const observedSeconds = deps.firstSeen.secondsAgo(attempt.id);
  const { named, failure } = await findNamedJob(deps, task, attempt);
  if (named) {
    const found = { callback: named.job_id, verified: named.verified };
    return { outcome: { kind: 'accepted', jobId: named.job_id }, by: 'callback', found };
  }
  const found = await deps.providerOf(task).find(findJobInput(deps, task, attempt));
  if (found.kind === 'found' && (await isOwnJob(deps, attempt, found))) {
    return { outcome: { kind: 'accepted', jobId: found.jobId }, by: 'find', found };
  }
  if (failure !== undefined) throw failure;
  const isAbsent = provesAbsence(deps, task, { attempt, found, observedSeconds });
  return { outcome: { kind: isAbsent ? 'absent' : 'unknown' }, by: 'find', found };
}

type Found = Extract<FindOutcome, { kind: 'found' }>;

/** Whether a found job is this attempt's: one found by likeness must not be another's. */
async function isOwnJob(
  { db, submitTimeoutSeconds }: FindDeps,
  attempt: Attempt,
  { jobId, by }: Found,
): Promise<boolean> {
  if (by === 'mark') return true;
  if (await isNamedElsewhere(db, attempt, jobId)) return false;
  return !(await hasOverlappingAttempt(db, attempt.id, submitTimeoutSeconds));
}

/**
 * The job that a callback named, unless it belongs to another attempt. With a valid signature it is
 * adopted at once. Without one it counts only if the provider knows the job, since only the
 * provider was given the callback's address. A failure to ask about one job does not stop the
 * others, nor the provider's own find.
 * @returns the job, or the last failure
 */
async function findNamedJob(
  deps: FindDeps,
  task: Task,
  attempt: Attempt,
): Promise<{ named?: NamedJob; failure?: unknown }> {
  const jobs = await namedJobs(deps.db, attempt.id);
  const ids = jobs.map((job) => job.job_id);
  const taken = await takenJobs(deps.db, attempt.provider, ids);
  let failure: unknown;
  for (const named of jobs) {
    if (taken.has(named.job_id)) continue;
    try {
      if (named.verified || (await isKnownToProvider(deps, task, named))) return { named };
    } catch (error) {
      failure = error;
    }
  }
  return { failure };
}

async function isKnownToProvider(deps: FindDeps, task: Task, job: NamedJob): Promise<boolean> {
  const status = await deps.providerOf(task).read(job.job_id);
  return status.kind !== 'missing';
}

interface FindResult {
  attempt: Attempt;
  found: FindOutcome;
  observedSeconds: number;
}

/**
 * Whether a find that did not find the job proves that there is no job. Strong absence counts only
 * where the attempt was sent to, and only when the submit can't be under way any more: by the
 * database's clock and, in case that clock has jumped, by the clock of this process too.
 */
function provesAbsence(
  deps: FindDeps,
  task: Task,
  { attempt, found, observedSeconds }: FindResult,
): boolean {
  if (found.kind !== 'absent') return false;
  if (found.proof === 'final') return true;
  const { identity, capabilities } = deps.providerOf(task);
  const settledSeconds = deps.submitTimeoutSeconds + capabilities.findLagSeconds;
  return (
    found.proof === 'strong' &&
    attempt.provider_identity === identity &&
    attempt.seconds_past_sending > settledSeconds &&
    observedSeconds > settledSeconds
  );
}
