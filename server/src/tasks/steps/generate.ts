import type { Database } from '../../database/database.ts';
import type { JobStatus, Provider } from '../../providers/provider.ts';
import { liveAttempt } from '../attempts/attempts.ts';
import type { Task } from '../task.ts';
import { type Move, moveNow, postpone, type StepResult } from '../transitions.ts';

export interface GenerateDeps {
  db: Database;
  providerOf(task: Task): Provider;
  pollMinSeconds: number;
  pollMaxSeconds: number;
  reconcileSeconds: number;
}

/** Room for the provider's clock and its own tidying up after a job's time is over. */
const LIMIT_GRACE_SECONDS = 60;
const MAX_RECHECK_SECONDS = 6 * 3600;

/**
 * Reads the accepted job, and moves the task on when the provider is done with it. One that
 * vanished, or that goes on beyond the provider's own limit, is held for its outcome.
 */
export async function generate(deps: GenerateDeps, task: Task): Promise<StepResult> {
  const { jobId, status } = await readJob(deps, task);
  if (status.kind === 'working' && !isOverdue(deps, task)) {
    return postpone(deps.db, task, { seconds: pollSeconds(deps, task) });
  }
  return moveOn(deps, task, afterJob(status, jobId));
}

/** A task held for its outcome: the job is read again, ever more rarely, until it has one. */
export async function recheck(deps: GenerateDeps, task: Task): Promise<StepResult> {
  const { jobId, status } = await readJob(deps, task);
  if (status.kind === 'working' && !isOverdue(deps, task)) {
    const cause = { job: jobId, reason: 'the provider works on it again' };
    return moveNow(deps.db, task, { to: 'generating', cause });
  }
  if (status.kind === 'working' || status.kind === 'missing') {
    const seconds = Math.max(recheckDelaySeconds(deps, task), task.phase_seconds / 60);
    return postpone(deps.db, task, { seconds: Math.min(seconds, MAX_RECHECK_SECONDS) });
  }
  return moveOn(deps, task, afterJob(status, jobId));
}

/**
 * How long a task rests that is held for its outcome: twice as long each time it is, so that a
 * result which can't be had costs ever fewer calls and few lines of history.
 */
export function recheckDelaySeconds(
  { reconcileSeconds }: Pick<GenerateDeps, 'reconcileSeconds'>,
  task: Task,
): number {
  const doublings = Math.min(task.outcome_holds, 20);
  return Math.min(MAX_RECHECK_SECONDS, reconcileSeconds * 2 ** doublings);
}

async function readJob(deps: GenerateDeps, task: Task) {
  const attempt = await liveAttempt(deps.db, task.id);
  if (!attempt?.job_id) throw new Error(`${task.id} has no accepted attempt`);
  const jobId = attempt.job_id;
  return { jobId, status: await deps.providerOf(task).read(jobId) };
}

function isOverdue(deps: GenerateDeps, task: Task): boolean {
  const { jobLimitSeconds } = deps.providerOf(task).capabilities;
  return (task.accepted_seconds ?? 0) > jobLimitSeconds + LIMIT_GRACE_SECONDS;
}

/** A quarter of the time the job has been running, within the configured bounds. */
function pollSeconds(deps: GenerateDeps, task: Task): number {
  return Math.min(deps.pollMaxSeconds, Math.max(deps.pollMinSeconds, task.phase_seconds / 4));
}

async function moveOn(deps: GenerateDeps, task: Task, step: Move): Promise<StepResult> {
  if (step.to !== 'held') return moveNow(deps.db, task, step);
  await moveNow(deps.db, task, { ...step, delaySeconds: recheckDelaySeconds(deps, task) });
  return 'postponed';
}

function afterJob(status: JobStatus, job: string): Move {
  switch (status.kind) {
    case 'succeeded':
      return { to: 'archiving', changes: { providerOutput: status.output } };
    case 'failed': {
      const error = { code: status.code, message: status.message };
      const billed = status.billed === null ? {} : { providerBilled: status.billed };
      return { to: 'failed', changes: { error, ...billed }, cause: { job, ...status } };
    }
    case 'missing':
      return heldFor(job, 'the provider does not know the job any more');
    case 'working':
      return heldFor(job, 'the provider works on it for longer than its own limit');
  }
}

function heldFor(job: string, reason: string): Move {
  return { to: 'held', changes: { heldCause: 'outcome' }, cause: { job, reason } };
}
