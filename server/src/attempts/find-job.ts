import { type Database, isDatabaseUnavailable, type Transaction } from '../database/database.ts';
import { evictOldest } from '../kernel/evict-oldest.ts';
import type { Log } from '../kernel/log.ts';
import type { Capabilities, FindOutcome, HostedProvider } from '../providers/provider.ts';
import type { Task } from '../tasks/task.ts';
import { postpone, type StepResult } from '../tasks/transitions.ts';
import { type AttemptOutcome, applyOutcome } from './apply-outcome.ts';
import {
  type Attempt,
  currentAttempt,
  hasOverlappingAttempt,
  type OutcomeSource,
  takenJobs,
} from './attempts.ts';
import { isNamedForOtherAttempt, type NamedJob, namedJobs, recordEvidence } from './evidence.ts';
import { findJobInput, type JobSpecDeps } from './job-spec.ts';

export interface FindDeps extends JobSpecDeps {
  db: Database;
  log: Log;
  providerOf(task: Task): HostedProvider;
  submitRetrySeconds: number;
  reconcileSeconds: number;
  firstSeen: FirstSeen;
}

/** `unknown`: the find was inconclusive. */
interface Finding {
  outcome: Extract<AttemptOutcome, { kind: 'accepted' | 'absent' | 'unknown' }>;
  by: OutcomeSource;
  /** Kept as evidence. */
  found: object;
}

/** The step of a task held for its acceptance. */
export async function findHeldJob(deps: FindDeps, task: Task): Promise<StepResult> {
  const attempt = await currentAttempt(deps.db, task.id);
  if (!attempt) throw new Error(`${task.id} is held without an attempt`);
  return findJobOf(deps, task, attempt);
}

/**
 * Finds the job of an attempt in flight whose worker died, or of a held task. Adopts a job only on
 * evidence (decisions/0009) and never submits again. A find that fails is inconclusive, so a task
 * whose provider can't be asked is held, and an operator can decide it.
 * @throws DatabaseUnavailable
 */
export async function findJobOf(deps: FindDeps, task: Task, attempt: Attempt): Promise<StepResult> {
  if (attempt.state === 'accepted') throw new Error(`${attempt.id} has a job already`);
  const finding = await findOwnJob(deps, task, attempt).catch((failure: unknown) => {
    if (isDatabaseUnavailable(failure)) throw failure;
    deps.log.warn({ err: failure, task: task.id, attempt: attempt.id }, 'a find failed');
    return inconclusive(failure);
  });
  return deps.db.transaction(async (tx) => {
    await recordEvidence(tx, attempt.id, 'find', finding.found);
    return applyFinding(deps, tx, task, { attempt, finding });
  });
}

function inconclusive(failure: unknown): Finding {
  return { outcome: { kind: 'unknown' }, by: 'find', found: { failure: String(failure) } };
}

function applyFinding(
  deps: FindDeps,
  tx: Transaction,
  task: Task,
  { attempt, finding }: { attempt: Attempt; finding: Finding },
): Promise<StepResult> {
  const { outcome, by, found } = finding;
  if (outcome.kind === 'unknown' && task.phase === 'held') {
    return postpone(tx, task, { seconds: delaySeconds(deps, task) });
  }
  const { submitRetrySeconds } = deps;
  const job = outcome.kind === 'accepted' ? { job: outcome.jobId } : {};
  const cause = { attempt: attempt.id, find: found, ...job };
  return applyOutcome(tx, task, attempt, { outcome, by, cause, submitRetrySeconds });
}

/**
 * 1/60 of the time in this phase, but at least `reconcileSeconds` or the provider's own value:
 * finds use a shared rate budget. A callback wakes the task earlier.
 */
function delaySeconds(deps: FindDeps, task: Task): number {
  const { findSeconds = deps.reconcileSeconds } = capabilitiesOf(deps, task);
  return Math.max(findSeconds, task.phase_seconds / 60);
}

/** Empty if this process does not have the provider. */
function capabilitiesOf(deps: FindDeps, task: Task): Partial<Capabilities> {
  try {
    return deps.providerOf(task).capabilities;
  } catch {
    return {};
  }
}

async function findOwnJob(deps: FindDeps, task: Task, attempt: Attempt): Promise<Finding> {
  const observedSeconds = deps.firstSeen.secondsAgo(attempt.id);
  const { named, failure } = await findNamedJob(deps, task, attempt);
  if (named) {
    const found = { callback: named.job_id, verified: named.verified };
    return { outcome: { kind: 'accepted', jobId: named.job_id }, by: 'callback', found };
  }
  const provider = deps.providerOf(task);
  const connections = provider.sameKind ?? [attempt.provider];
  const found = await provider.find(await findJobInput(deps, task, attempt, connections));
  if (found.kind === 'found' && (await isOwnJob(deps, attempt, { found, connections }))) {
    return { outcome: { kind: 'accepted', jobId: found.jobId }, by: 'find', found };
  }
  // The job that could not be read may be the attempt's own, so absence is not concluded.
  if (failure !== undefined) throw failure;
  const absent = concludeAbsence(deps, task, { attempt, found, observedSeconds });
  return absent ?? { outcome: { kind: 'unknown' }, by: 'find', found };
}

type Found = Extract<FindOutcome, { kind: 'found' }>;

/** A job found by likeness counts only if it can't belong to another attempt. */
async function isOwnJob(
  { db, submitTimeoutSeconds }: FindDeps,
  attempt: Attempt,
  { found: { jobId, by }, connections }: { found: Found; connections: readonly string[] },
): Promise<boolean> {
  if (by === 'mark') return true;
  if (await isNamedForOtherAttempt(db, attempt.id, connections, jobId)) return false;
  return !(await hasOverlappingAttempt(db, attempt.id, submitTimeoutSeconds, connections));
}

/**
 * The first job that a callback named and that is not taken. A verified callback is proof; without
 * a signature, it is proof if the provider knows the job, because the callback URL was given only
 * to the provider. If reading one job fails, the others and the provider's find are still tried.
 * @returns the job, or the last failure
 */
async function findNamedJob(
  deps: FindDeps,
  task: Task,
  attempt: Attempt,
): Promise<{ named?: NamedJob; failure?: unknown }> {
  const jobs = await namedJobs(deps.db, attempt.id);
  const ids = jobs.map((job) => job.job_id);
  const taken = await takenJobs(deps.db, [attempt.provider], ids);
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

/**
 * Decides if a find without a result means that there is no job. Strong absence is proof only at
 * the identity that the attempt was sent with, and once the submit can't be under way. Under the
 * same conditions, the operator's policy may end a held task without proof, after
 * `assumeAbsentAfterHours`; a job that shows up later is an orphan job.
 * @returns undefined if absence is neither proved nor assumed, or not yet
 */
function concludeAbsence(
  deps: FindDeps,
  task: Task,
  result: { attempt: Attempt; found: FindOutcome; observedSeconds: number },
): Finding | undefined {
  const { attempt, found, observedSeconds } = result;
  if (found.kind !== 'absent') return undefined;
  const outcome = { kind: 'absent' } as const;
  if (found.proof === 'final') return { outcome, by: 'find', found };
  const { identity, assumeAbsentAfterHours: hours } = deps.providerOf(task);
  const isAskedWhereSent = attempt.provider_identity === identity;
  if (!isAskedWhereSent || !isSubmitOver(deps, task, attempt, observedSeconds)) return undefined;
  if (found.proof === 'strong') return { outcome, by: 'find', found };
  if (hours === undefined || task.phase !== 'held') return undefined;
  if (attempt.seconds_since_deadline <= hours * 3600) return undefined;
  return { outcome, by: 'assumption', found: { ...found, assumed_absent_after_hours: hours } };
}

/** Asks the database's clock and this process's, because the database's may have jumped. */
function isSubmitOver(
  deps: FindDeps,
  task: Task,
  attempt: Attempt,
  observedSeconds: number,
): boolean {
  const { findLagSeconds } = deps.providerOf(task).capabilities;
  const overSeconds = deps.submitTimeoutSeconds + findLagSeconds;
  return attempt.seconds_since_deadline > overSeconds && observedSeconds > overSeconds;
}

/** How many attempts createFirstSeen remembers. Forgetting one only delays a proof of absence. */
const MAX_REMEMBERED = 10_000;

type FirstSeen = ReturnType<typeof createFirstSeen>;

/**
 * Remembers when each attempt was first seen: by a monotonic clock, as the database's may jump.
 * @param monotonic milliseconds by a clock of this process that never goes back
 */
export function createFirstSeen(monotonic: () => number) {
  const since = new Map<string, number>();
  return {
    /** Seconds since the first call for this attempt; 0 for the first call. */
    secondsAgo(attemptId: string): number {
      const now = monotonic();
      const first = since.get(attemptId) ?? now;
      if (!since.has(attemptId)) evictOldest(since, MAX_REMEMBERED);
      since.set(attemptId, first);
      return (now - first) / 1000;
    },
  };
}
