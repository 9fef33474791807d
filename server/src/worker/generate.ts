import { readCurrentAttempt } from '../attempts/attempts.ts';
import { CANCELLED_ERROR } from '../attempts/cancel.ts';
import { readCancel } from '../attempts/cancel-requests.ts';
import { retryFailed } from '../attempts/retry-failed.ts';
import type { Signer } from '../credentials/signer.ts';
import { type Database, isDatabaseUnavailable } from '../database/database.ts';
import type { Measurer } from '../media/measure.ts';
import type { JobStatus, Provider } from '../providers/provider.ts';
import type { Routing } from '../routing/routing.ts';
import type { Task } from '../tasks/task.ts';
import {
  type Changes,
  type Move,
  moveNow,
  postpone,
  type StepResult,
} from '../tasks/transitions.ts';
import type { JobTimes } from './job-times.ts';
import { nextConnection } from './next-connection.ts';

export interface GenerateDeps {
  db: Database;
  providerOf(task: Task): Provider;
  pollMinSeconds: number;
  pollMaxSeconds: number;
  reconcileSeconds: number;
  routing: Pick<Routing, 'next' | 'retriesFailed'>;
  outputMeasurer?: Pick<Measurer, 'prepare'>;
  credentials?: { signer: Pick<Signer, 'prepare'> } | undefined;
  jobTimes?: Pick<JobTimes, 'expectedTime' | 'observeWorking' | 'observeEnd'>;
}

/** Added to the limit of a job's time: the provider may end a job late, or its clock may differ. */
const LIMIT_GRACE_SECONDS = 60;
const MAX_RECHECK_SECONDS = 6 * 3600;

/**
 * Reads the job. If it is missing, runs past the provider's own limit or could not be read by the
 * end of that limit, the task is held for its outcome.
 */
export async function generate(deps: GenerateDeps, task: Task): Promise<StepResult> {
  const read = await readJob(deps, task).catch((error: unknown) => {
    if (isDatabaseUnavailable(error) || !isOverdue(deps, task)) throw error;
    return { failure: String(error) };
  });
  if ('failure' in read) {
    const cause = { reason: 'the job could not be read before its limit ended', ...read };
    return moveOn(deps, task, { to: 'held', changes: { heldCause: 'outcome' }, cause });
  }
  const { jobId, status } = read;
  if (status.kind === 'working' && !isOverdue(deps, task)) {
    const pauseSeconds = pollSeconds(deps, task);
    deps.jobTimes?.observeWorking(task.id, { seconds: task.accepted_seconds ?? 0, pauseSeconds });
    return postpone(deps.db, task, { seconds: pauseSeconds });
  }
  if (status.kind === 'succeeded') deps.jobTimes?.observeEnd(task, task.accepted_seconds ?? 0);
  const retried = await tryElsewhere(deps, task, { status, jobId });
  return retried ?? moveOn(deps, task, await nextMove(deps, task, { status, jobId }));
}

/** If the route says so, retries elsewhere after an unbilled failure by the provider's fault. */
async function tryElsewhere(
  { db, routing }: GenerateDeps,
  task: Task,
  { status, jobId }: { status: JobStatus; jobId: string },
): Promise<Task | undefined> {
  if (status.kind !== 'failed' || status.billed !== false || !status.isProviderFault) return;
  if (task.retried_from !== null || !routing.retriesFailed(task.request.model)) return;
  const next = nextConnection(routing, task);
  if (next === undefined) return;
  return db.transaction((tx) => retryFailed(tx, task, { jobId, next, failure: status }));
}

/** The step of a task held for its outcome. */
export async function recheck(deps: GenerateDeps, task: Task): Promise<StepResult> {
  const { jobId, status } = await readJob(deps, task);
  if (status.kind === 'working' && !isOverdue(deps, task)) {
    const cause = { job: jobId, reason: 'the provider works on the job again' };
    return moveNow(deps.db, task, { to: 'generating', cause });
  }
  const move = await nextMove(deps, task, { status, jobId });
  if (move.to === 'held') {
    // Within one hold the pause grows too, to a sixtieth of the time since the hold began.
    const seconds = Math.max(recheckDelaySeconds(deps, task), task.phase_seconds / 60);
    return postpone(deps.db, task, { seconds: Math.min(seconds, MAX_RECHECK_SECONDS) });
  }
  return moveOn(deps, task, move);
}

/**
 * The pauses between rechecks double each time the task is held, up to six hours: a result that
 * can't be fetched costs few calls and few rows of history.
 */
export function recheckDelaySeconds(
  { reconcileSeconds }: Pick<GenerateDeps, 'reconcileSeconds'>,
  task: Task,
): number {
  const doublings = Math.min(task.outcome_holds, 20);
  return Math.min(MAX_RECHECK_SECONDS, reconcileSeconds * 2 ** doublings);
}

async function readJob(deps: GenerateDeps, task: Task) {
  const provider = deps.providerOf(task);
  // Starts the child processes that will decode and sign the result (decisions/0023).
  if (!provider.capabilities.repeatsOutputs) {
    deps.outputMeasurer?.prepare(task.provider);
    deps.credentials?.signer.prepare(task.provider);
  }
  const jobId = await jobOf(deps, task);
  return { jobId, status: await provider.read(jobId) };
}

async function jobOf({ db }: GenerateDeps, { id, accepted_job_id: known }: Task): Promise<string> {
  if (known) return known;
  const attempt = await readCurrentAttempt(db, id);
  if (!attempt?.job_id) throw new Error(`${id} has no accepted attempt`);
  return attempt.job_id;
}

function isOverdue(deps: GenerateDeps, task: Task): boolean {
  const { jobLimitSeconds } = deps.providerOf(task).capabilities;
  return (task.accepted_seconds ?? 0) > jobLimitSeconds + LIMIT_GRACE_SECONDS;
}

/** The window around the expected end, in mean deviations on each side. */
const DEVIATIONS = 3;
/** How often the job is read from the start of the window to its middle. */
const EXPECTED_READS = 5;
/** The shortest pause within the window, as a fraction of the configured one. */
const EXPECTED_PAUSE = 1 / 8;

/**
 * The pause before the next read: a quarter of the time since the task began to generate, within
 * the configured bounds. Once typical job times are known, it is longer before the expected end and
 * shorter around it. Times whose mean deviation is a third of their mean or more are ignored: a job
 * that ended while the service was down seems to have run until its restart.
 */
function pollSeconds(deps: GenerateDeps, task: Task): number {
  const { pollMinSeconds, pollMaxSeconds } = deps;
  const within = (shortest: number, seconds: number) =>
    Math.min(pollMaxSeconds, Math.max(shortest, seconds));
  const usual = within(pollMinSeconds, task.phase_seconds / 4);
  const expected = deps.jobTimes?.expectedTime(task);
  if (!expected) return usual;
  const age = task.accepted_seconds ?? task.phase_seconds;
  const shortest = pollMinSeconds * EXPECTED_PAUSE;
  const windowSeconds = Math.max(shortest, expected.deviationSeconds * DEVIATIONS);
  if (windowSeconds >= expected.meanSeconds) return usual;
  const untilEnd = expected.meanSeconds - age;
  if (untilEnd > windowSeconds) return within(shortest, untilEnd - windowSeconds);
  // After the expected end, the pause grows to a quarter of the time since then.
  return within(shortest, Math.max(windowSeconds / EXPECTED_READS, -untilEnd / 4));
}

async function moveOn(deps: GenerateDeps, task: Task, move: Move): Promise<StepResult> {
  if (move.to !== 'held') return moveNow(deps.db, task, move);
  await moveNow(deps.db, task, { ...move, delaySeconds: recheckDelaySeconds(deps, task) });
  return 'postponed';
}

/**
 * The task of a cancelled job fails as cancelled. So does the task of a failed job whose cancel was
 * requested: the provider may have accepted the cancel, and its response was not recorded.
 */
async function nextMove(
  { db }: GenerateDeps,
  task: Task,
  { status, jobId }: { status: JobStatus; jobId: string },
): Promise<Move> {
  if (status.kind !== 'failed' && status.kind !== 'missing') return moveBy(task, status, jobId);
  const cancel = await readCancel(db, task.id);
  const isCancelled =
    cancel?.state === 'accepted' || (cancel?.state === 'requested' && status.kind === 'failed');
  if (!isCancelled) return moveBy(task, status, jobId);
  const changes = { error: CANCELLED_ERROR, ...reportedCostOf(task, status) };
  const by = { cancelled: true, cancelled_by: cancel.requested_by };
  return { to: 'failed', changes, cause: { job: jobId, ...by, ...status } };
}

/** The move that follows from a job's status alone. */
function moveBy(task: Task, status: JobStatus, job: string): Move {
  switch (status.kind) {
    case 'succeeded':
      return {
        to: 'archiving',
        changes: { providerOutput: status.output, ...reportedCostOf(task, status) },
      };
    case 'failed': {
      const error = { code: status.code, message: status.message };
      const changes = { error, ...reportedCostOf(task, status) };
      return { to: 'failed', changes, cause: { job, ...status } };
    }
    case 'missing':
      return heldFor(job, 'the provider does not know the job any more');
    case 'working':
      return heldFor(job, 'the provider works on the job for longer than its own limit');
  }
}

/**
 * What the provider says about the cost of an ended job. Compute seconds that can't be true, since
 * the task is not that old, count as not reported.
 */
function reportedCostOf(
  task: Task,
  status: JobStatus,
): Pick<Changes, 'jobCost' | 'computeSeconds' | 'providerBilled'> {
  if (status.kind !== 'succeeded' && status.kind !== 'failed') return {};
  const { cost, computeSeconds = Number.NaN } = status;
  const ageSeconds = task.now_seconds - task.created_at.getTime() / 1000;
  const isPossible = computeSeconds >= 0 && computeSeconds <= ageSeconds + LIMIT_GRACE_SECONDS;
  const billed = status.kind === 'failed' ? status.billed : null;
  return {
    ...(cost ? { jobCost: cost } : {}),
    ...(isPossible ? { computeSeconds } : {}),
    ...(billed === null ? {} : { providerBilled: billed }),
  };
}

function heldFor(job: string, reason: string): Move {
  return { to: 'held', changes: { heldCause: 'outcome' }, cause: { job, reason } };
}
