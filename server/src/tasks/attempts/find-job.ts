import type { Database, Transaction } from '../../database/database.ts';
import type { FindOutcome, Provider } from '../../providers/provider.ts';
import type { Task } from '../task.ts';
import { postpone, type StepResult } from '../transitions.ts';
import { type AttemptOutcome, applyOutcome } from './apply-outcome.ts';
import { type Attempt, hasOverlappingAttempt, liveAttempt, takenJobs } from './attempts.ts';
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

/** What a find learned about an attempt: `unknown` when it was inconclusive. */
interface Finding {
  outcome: Extract<AttemptOutcome, { kind: 'accepted' | 'absent' | 'unknown' }>;
  by: EvidenceSource;
  /** The callback or the provider's response that it rests on, kept as evidence. */
  found: object;
}

/** A task held because nobody knows whether its provider took it. */
export async function findHeldJob(deps: FindDeps, task: Task): Promise<StepResult> {
  const attempt = await liveAttempt(deps.db, task.id);
  if (!attempt) throw new Error(`${task.id} is held without an attempt`);
  return findJobOf(deps, task, attempt);
}

/**
 * Looks for the job of an attempt whose outcome nobody knows: one that a killed worker left open,
 * or one that holds its task. A guess is never made and nothing is submitted again.
 */
export async function findJobOf(deps: FindDeps, task: Task, attempt: Attempt): Promise<StepResult> {
  if (attempt.state === 'accepted') throw new Error(`${attempt.id} needs no look-up`);
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

/** Look-ups cost calls of a shared budget: in time they become rarer, and callbacks still wake. */
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
  if (found.kind === 'found' && (await isOurs(deps, attempt, found))) {
    return { outcome: { kind: 'accepted', jobId: found.jobId }, by: 'find', found };
  }
  if (failure !== undefined) throw failure;
  const isAbsent = provesAbsence(deps, task, { attempt, found, observedSeconds });
  return { outcome: { kind: isAbsent ? 'absent' : 'unknown' }, by: 'find', found };
}

type Found = Extract<FindOutcome, { kind: 'found' }>;

/** Whether a job that was found may be taken: what only looks alike must not be another's. */
async function isOurs(
  { db, submitTimeoutSeconds }: FindDeps,
  attempt: Attempt,
  { jobId, by }: Found,
): Promise<boolean> {
  if (by === 'mark') return true;
  if (await isNamedElsewhere(db, attempt, jobId)) return false;
  return !(await hasOverlappingAttempt(db, attempt.id, submitTimeoutSeconds));
}

/**
 * The job that a callback named, if nobody has it yet. Behind a signature it is believed; without
 * one it counts only if the provider, asked, knows it: only the provider knew the address. That one
 * can't be asked about does not keep the others, nor the look-up itself, from being tried.
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

interface LookedFor {
  attempt: Attempt;
  found: FindOutcome;
  observedSeconds: number;
}

/**
 * Whether a look-up that began now proves, by not finding a job, that there is none. Strong absence
 * counts once the submit can't be on its way any more, by the database's clock and, in case that
 * one has jumped, by this process's own; and only where the attempt was sent to.
 */
function provesAbsence(
  deps: FindDeps,
  task: Task,
  { attempt, found, observedSeconds }: LookedFor,
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
