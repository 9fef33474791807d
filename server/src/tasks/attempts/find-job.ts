import type { Database, Transaction } from '../../database/database.ts';
import type { FindOutcome, Provider } from '../../providers/provider.ts';
import type { Task } from '../task.ts';
import { move, type Next, postpone } from '../transitions.ts';
import { type Attempt, hasTwin, liveAttempt, recordOutcome, takenJobs } from './attempts.ts';
import {
  type EvidenceSource,
  isNamedElsewhere,
  type NamedJob,
  namedJobs,
  noteEvidence,
} from './evidence.ts';
import { findJobInput, type JobSpecDeps } from './job-spec.ts';
import { notAccepted } from './not-accepted.ts';
import type { Watch } from './uncertain-since.ts';

export interface FindDeps extends JobSpecDeps {
  db: Database;
  providerOf(task: Task): Provider;
  submitRetrySeconds: number;
  reconcileSeconds: number;
  watch: Watch;
}

/** What is known of an attempt's job, and who said so. */
type Finding =
  | { kind: 'found'; jobId: string; by: EvidenceSource; found: object }
  | { kind: 'absent'; found: FindOutcome }
  | { kind: 'inconclusive'; found: FindOutcome };

/** A task held because nobody knows whether its provider took it. */
export async function findHeldJob(deps: FindDeps, task: Task): Promise<Next> {
  const attempt = await liveAttempt(deps.db, task.id);
  if (!attempt) throw new Error(`${task.id} is held without an attempt`);
  return findJob(deps, task, attempt);
}

/**
 * Looks for the job of an attempt whose outcome nobody knows: one that a killed worker left open,
 * or one that holds its task. A guess is never made and nothing is submitted again.
 */
export async function findJob(deps: FindDeps, task: Task, attempt: Attempt): Promise<Next> {
  if (attempt.state === 'accepted') throw new Error(`${attempt.id} needs no look-up`);
  const finding = await findOwnJob(deps, task, attempt).catch(async (failure: unknown) => {
    await noteEvidence(deps.db, attempt.id, 'find', { failure: String(failure) });
    throw failure;
  });
  return deps.db.transaction(async (tx) => {
    await noteEvidence(tx, attempt.id, 'find', finding.found);
    return follow(deps, tx, task, { attempt, finding });
  });
}

async function follow(
  deps: FindDeps,
  tx: Transaction,
  task: Task,
  { attempt, finding }: { attempt: Attempt; finding: Finding },
): Promise<Next> {
  const cause = { attempt: attempt.id, find: finding.found };
  switch (finding.kind) {
    case 'found': {
      const { jobId, by } = finding;
      await recordOutcome(tx, attempt.id, { state: 'accepted', jobId, by });
      return move(tx, task, { to: 'generating', cause: { ...cause, job: jobId } });
    }
    case 'absent':
      await recordOutcome(tx, attempt.id, { state: 'absent', by: 'find', cause });
      return notAccepted(tx, task, { ...deps, cause });
    case 'inconclusive':
      if (task.phase === 'submitting') {
        return holdForEvidence(tx, task, attempt, { by: 'find', cause });
      }
      return postpone(tx, task, { seconds: restSeconds(deps, task) });
  }
}

/** Holds the task, its credits and its inputs until evidence comes. */
export async function holdForEvidence(
  tx: Transaction,
  task: Task,
  attempt: Attempt,
  { by, cause }: { by: EvidenceSource; cause: Record<string, unknown> },
): Promise<Next> {
  if (attempt.state === 'in_flight') {
    await recordOutcome(tx, attempt.id, { state: 'unknown', by, cause });
  }
  return move(tx, task, { to: 'held', changes: { heldCause: 'acceptance' }, cause });
}

/** Look-ups cost calls of a shared budget: in time they become rarer, and callbacks still wake. */
function restSeconds(deps: FindDeps, task: Task): number {
  return Math.max(deps.reconcileSeconds, task.phase_seconds / 60);
}

async function findOwnJob(deps: FindDeps, task: Task, attempt: Attempt): Promise<Finding> {
  const watchedSeconds = deps.watch.secondsSince(attempt.id);
  const { named, failure } = await findNamedJob(deps, task, attempt);
  if (named) {
    const found = { callback: named.job_id, verified: named.verified };
    return { kind: 'found', jobId: named.job_id, by: 'callback', found };
  }
  const found = await deps.providerOf(task).find(findJobInput(deps, task, attempt));
  if (found.kind === 'found' && (await isOurs(deps, attempt, found))) {
    return { kind: 'found', jobId: found.jobId, by: 'find', found };
  }
  if (failure !== undefined) throw failure;
  const isAbsent = provesAbsence(deps, task, { attempt, found, watchedSeconds });
  return { kind: isAbsent ? 'absent' : 'inconclusive', found };
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
  return !(await hasTwin(db, attempt.id, submitTimeoutSeconds));
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
      if (named.verified || (await isThere(deps, task, named))) return { named };
    } catch (error) {
      failure = error;
    }
  }
  return { failure };
}

async function isThere(deps: FindDeps, task: Task, job: NamedJob): Promise<boolean> {
  const status = await deps.providerOf(task).read(job.job_id);
  return status.kind !== 'missing';
}

interface LookedFor {
  attempt: Attempt;
  found: FindOutcome;
  watchedSeconds: number;
}

/**
 * Whether a look-up that began now proves, by not finding a job, that there is none. Strong absence
 * counts once the submit can't be on its way any more, by the database's clock and, in case that
 * one has jumped, by this process's own; and only where the attempt was sent to.
 */
function provesAbsence(
  deps: FindDeps,
  task: Task,
  { attempt, found, watchedSeconds }: LookedFor,
): boolean {
  if (found.kind !== 'absent') return false;
  if (found.proof === 'final') return true;
  const { identity, capabilities } = deps.providerOf(task);
  const settledSeconds = deps.submitTimeoutSeconds + capabilities.findLagSeconds;
  return (
    found.proof === 'strong' &&
    attempt.provider_identity === identity &&
    attempt.seconds_past_sending > settledSeconds &&
    watchedSeconds > settledSeconds
  );
}
