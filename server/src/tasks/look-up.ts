import type { Database, Transaction } from '../kernel/database.ts';
import type { FindOutcome, Provider } from '../providers/provider.ts';
import { type Attempt, hasTwin, liveAttempt, resolveAttempt, takenJobs } from './attempts.ts';
import { type EvidenceSource, type NamedJob, namedJobs, noteEvidence } from './evidence.ts';
import { notAccepted } from './not-accepted.ts';
import { type SubmissionParts, soughtAttempt } from './submission.ts';
import type { Task } from './task.ts';
import { move, type Next, postpone } from './transitions.ts';

export interface LookUpParts extends SubmissionParts {
  db: Database;
  providerOf(task: Task): Provider;
  submitRetrySeconds: number;
  reconcileSeconds: number;
}

/** What is known of an attempt's job, and who said so. */
type Finding =
  | { kind: 'found'; jobId: string; by: EvidenceSource; found: object }
  | { kind: 'absent'; found: FindOutcome }
  | { kind: 'open'; found: FindOutcome };

/** A task held because nobody knows whether its provider took it. */
export async function reconcileHeld(parts: LookUpParts, task: Task): Promise<Next> {
  const attempt = await liveAttempt(parts.db, task.id);
  if (!attempt) throw new Error(`${task.id} is held without an attempt`);
  return lookUp(parts, task, attempt);
}

/**
 * Looks for the job of an attempt whose outcome nobody knows: one that a killed worker left open,
 * or one that holds its task. A guess is never made and nothing is submitted again.
 */
export async function lookUp(parts: LookUpParts, task: Task, attempt: Attempt): Promise<Next> {
  if (attempt.state === 'accepted') throw new Error(`${attempt.id} needs no look-up`);
  const finding = await seek(parts, task, attempt).catch(async (failure: unknown) => {
    await noteEvidence(parts.db, attempt.id, 'look_up', { failure: String(failure) });
    throw failure;
  });
  return parts.db.transaction(async (tx) => {
    await noteEvidence(tx, attempt.id, 'look_up', finding.found);
    return follow(parts, tx, task, { attempt, finding });
  });
}

async function follow(
  parts: LookUpParts,
  tx: Transaction,
  task: Task,
  { attempt, finding }: { attempt: Attempt; finding: Finding },
): Promise<Next> {
  const cause = { attempt: attempt.id, look_up: finding.found };
  switch (finding.kind) {
    case 'found': {
      const { jobId, by } = finding;
      await resolveAttempt(tx, attempt.id, { state: 'accepted', jobId, by });
      return move(tx, task, { to: 'generating', cause: { ...cause, job: jobId } });
    }
    case 'absent':
      await resolveAttempt(tx, attempt.id, { state: 'absent', by: 'look_up', cause });
      return notAccepted(tx, task, { ...parts, cause });
    case 'open':
      if (task.phase === 'submitting') return holdForEvidence(tx, task, attempt, cause);
      return postpone(tx, task, { seconds: restSeconds(parts, task) });
  }
}

/** Holds the task, its credits and its inputs until evidence comes. */
export async function holdForEvidence(
  tx: Transaction,
  task: Task,
  attempt: Attempt,
  cause: Record<string, unknown>,
): Promise<Next> {
  if (attempt.state === 'open') {
    await resolveAttempt(tx, attempt.id, { state: 'unknown', by: 'sender', cause });
  }
  return move(tx, task, { to: 'held', changes: { heldCause: 'acceptance' }, cause });
}

/** Look-ups cost calls of a shared budget: in time they become rarer, and callbacks still wake. */
function restSeconds(parts: LookUpParts, task: Task): number {
  return Math.max(parts.reconcileSeconds, task.phase_seconds / 60);
}

async function seek(parts: LookUpParts, task: Task, attempt: Attempt): Promise<Finding> {
  const named = await seekNamed(parts, task, attempt);
  if (named) {
    const found = { callback: named.job_id, verified: named.verified };
    return { kind: 'found', jobId: named.job_id, by: 'callback', found };
  }
  const found = await parts.providerOf(task).find(soughtAttempt(parts, task, attempt));
  if (found.kind === 'found' && (found.by === 'mark' || !(await mayBeAnothers(parts, attempt)))) {
    return { kind: 'found', jobId: found.jobId, by: 'look_up', found };
  }
  return { kind: provesAbsence(parts, task, attempt, found) ? 'absent' : 'open', found };
}

function mayBeAnothers(parts: LookUpParts, attempt: Attempt): Promise<boolean> {
  return hasTwin(parts.db, attempt.id, parts.submitTimeoutSeconds);
}

/**
 * The job that a callback named, if nobody has it yet. Behind a signature it is believed; without
 * one it counts only if the provider, asked, knows it: only the provider knew the address.
 */
async function seekNamed(
  parts: LookUpParts,
  task: Task,
  attempt: Attempt,
): Promise<NamedJob | undefined> {
  const named = await namedJobs(parts.db, attempt.id);
  const ids = named.map((job) => job.job_id);
  const taken = await takenJobs(parts.db, attempt.provider, ids);
  for (const job of named) {
    if (taken.has(job.job_id)) continue;
    if (job.verified || (await isThere(parts, task, job))) return job;
  }
  return undefined;
}

async function isThere(parts: LookUpParts, task: Task, job: NamedJob): Promise<boolean> {
  const status = await parts.providerOf(task).read(job.job_id);
  return status.kind !== 'missing';
}

/** Whether a look-up that begins now proves, by not finding a job, that there is none. */
function provesAbsence(parts: LookUpParts, task: Task, attempt: Attempt, found: FindOutcome) {
  if (found.kind !== 'absent') return false;
  if (found.proof === 'final') return true;
  const lag = parts.providerOf(task).capabilities.findLagSeconds;
  const settledSeconds = parts.submitTimeoutSeconds + lag;
  return found.proof === 'strong' && attempt.seconds_past_sending > settledSeconds;
}
