import type { Database, Transaction } from '../database/database.ts';
import { ApiError } from '../kernel/errors.ts';
import { untilFound } from '../kernel/until-found.ts';
import { takeLease } from '../tasks/lease.ts';
import { PHASES_BEFORE_ACCEPTANCE, type Phase, readTasks, type Task } from '../tasks/task.ts';
import { lockState } from '../tasks/task-listing.ts';
import { move } from '../tasks/transitions.ts';
import { hasEnded, isBeforeAcceptance } from '../tasks/waiting.ts';
import { currentAttempt } from './attempts.ts';
import { readCancel, requestCancel } from './cancel-requests.ts';

/** The error that a customer sees on a cancelled task. */
export const CANCELLED_ERROR = {
  code: 'cancelled',
  message: 'The task was cancelled. The credits are refunded.',
} as const;

/**
 * Why a task can't be cancelled: there may be a job (`held`), a submit is under way (`submitting`),
 * its video is being copied (`archiving`), or it has ended.
 */
export type CancelObstacle = 'held' | 'submitting' | 'archiving' | 'ended';

export class NotCancellable extends Error {
  override name = 'NotCancellable';
  readonly obstacle: CancelObstacle;
  readonly phase: Phase;

  constructor(obstacle: CancelObstacle, phase: Phase) {
    super(`a task that is ${phase} can't be cancelled`);
    this.obstacle = obstacle;
    this.phase = phase;
  }
}

/** Kept in the task's history. */
export type CancelCause =
  | { cancelled_by: 'customer' }
  | { cancelled_by: 'operator'; operator: string | null };

/** `done`: the task failed and is refunded; `requested`: a worker asks the provider. */
export interface CancelBegun {
  task_id: string;
  phase: Phase;
  cancel: 'done' | 'requested';
  /** False if the cancel was done or requested before. */
  changed: boolean;
}

/**
 * Cancels a task, or requests that a worker does. Before its submit, the task fails and is
 * refunded. After acceptance, a worker asks the provider to cancel the job, and the task ends as
 * the job does. While a submit is under way or its outcome is unknown, nothing can be cancelled:
 * there may be a job.
 * @param options.alsoHeldOutcome whether a task that is held for its outcome counts as accepted
 * @throws NotCancellable; UsageError when there is no such task
 */
export async function beginCancel(
  tx: Transaction,
  taskId: string,
  options: { cause: CancelCause; alsoHeldOutcome: boolean },
): Promise<CancelBegun> {
  const state = await lockState(tx, taskId);
  const { phase } = state;
  if (state.error_code === 'cancelled') {
    return { task_id: taskId, phase, cancel: 'done', changed: false };
  }
  if (isBeforeAcceptance(state)) return cancelBeforeSubmit(tx, taskId, options.cause);
  const mayCancelHeld = options.alsoHeldOutcome && state.held_cause === 'outcome';
  if (phase === 'generating' || mayCancelHeld) {
    const changed = await requestCancel(tx, taskId, options.cause.cancelled_by);
    return { task_id: taskId, phase, cancel: 'requested', changed };
  }
  throw new NotCancellable(obstacleOf(phase), phase);
}

function obstacleOf(phase: Phase): CancelObstacle {
  return phase === 'held' || phase === 'archiving' ? phase : 'ended';
}

/**
 * Refused while an attempt is in flight. insertAttempt locks the task's row too, so no attempt can
 * begin meanwhile.
 */
async function cancelBeforeSubmit(
  tx: Transaction,
  taskId: string,
  cause: CancelCause,
): Promise<CancelBegun> {
  const task = await takeLease(tx, taskId, PHASES_BEFORE_ACCEPTANCE);
  if (!task) throw new Error(`${taskId} moved under a lock`);
  if (await currentAttempt(tx, taskId)) throw new NotCancellable('submitting', task.phase);
  const moved = await move(tx, task, { to: 'failed', changes: { error: CANCELLED_ERROR }, cause });
  return { task_id: taskId, phase: moved.phase, cancel: 'done', changed: true };
}

const LOOK_SECONDS = 0.2;

function lookFor<Found>(signal: AbortSignal, read: () => Promise<Found | undefined>) {
  return untilFound({ pauseSeconds: LOOK_SECONDS, signal }, read);
}

/** Waits for a provider's reply to a cancel request. @returns undefined if the signal aborts */
export function awaitProviderReply(db: Database, taskId: string, signal: AbortSignal) {
  return lookFor(signal, async () => {
    const request = await readCancel(db, taskId);
    return request?.state === 'requested' ? undefined : request;
  });
}

/** How long a customer's cancel waits for the provider's reply and the end of the task. */
const WAIT_SECONDS = 10;
const RETRY_AFTER_SECONDS = 5;

/**
 * `cancelled`: the task failed and is refunded. `pending`: the provider was asked; the task will
 * show the result. `refused`: the task continues.
 */
export interface OwnerCancel {
  cancel: 'cancelled' | 'pending' | 'refused';
  refusal: 'video_is_finished' | 'provider_cannot' | null;
  task: Task;
}

/**
 * Cancels a task for its owner, and waits a while for the result.
 * @param stopping ends the wait; the task will show the result
 * @throws NotCancellable when the task is held or has ended; ApiError `service_busy` when its
 *   submit was under way for the whole time
 */
export async function cancelAndWait(
  db: Database,
  task: Task,
  stopping: AbortSignal,
): Promise<OwnerCancel> {
  if (task.phase === 'completed' || (task.phase === 'failed' && task.error_code !== 'cancelled')) {
    throw new NotCancellable('ended', task.phase);
  }
  if (task.phase === 'failed') return { cancel: 'cancelled', refusal: null, task };
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(WAIT_SECONDS * 1000)]);
  // Wait for a submit under way: its outcome decides.
  const begun = await lookFor(signal, () => beginUnlessSubmitting(db, task.id));
  if (begun === undefined) throw submitUnderWay();
  if (begun === 'archiving') return readResult(db, task, 'video_is_finished');
  if (begun.cancel === 'done') return readResult(db, task, null);
  const reply = await awaitProviderReply(db, task.id, signal);
  if (reply?.state === 'refused') return readResult(db, task, 'provider_cannot');
  await lookFor(signal, async () => (await readTasks(db, [task.id])).find(hasEnded));
  return readResult(db, task, null);
}

/** @returns undefined while a submit is under way */
async function beginUnlessSubmitting(
  db: Database,
  taskId: string,
): Promise<CancelBegun | 'archiving' | undefined> {
  const options = { cause: { cancelled_by: 'customer' }, alsoHeldOutcome: false } as const;
  try {
    return await db.transaction((tx) => beginCancel(tx, taskId, options));
  } catch (error) {
    if (!(error instanceof NotCancellable)) throw error;
    if (error.obstacle === 'archiving') return 'archiving';
    if (error.obstacle === 'submitting') return undefined;
    throw error;
  }
}

function submitUnderWay(): ApiError {
  const message = 'The task is being submitted at this moment. Send the request again.';
  const details = { reason: 'submitting' };
  return new ApiError('service_busy', message, { details, retryAfterSeconds: RETRY_AFTER_SECONDS });
}

async function readResult(
  db: Database,
  before: Task,
  refusedFor: OwnerCancel['refusal'],
): Promise<OwnerCancel> {
  const [task = before] = await readTasks(db, [before.id]);
  if (task.error_code === 'cancelled') return { cancel: 'cancelled', refusal: null, task };
  if (task.phase === 'failed') throw new NotCancellable('ended', task.phase);
  const isFinished = task.phase === 'completed' || task.phase === 'archiving';
  const refusal = isFinished ? 'video_is_finished' : refusedFor;
  if (refusal !== null) return { cancel: 'refused', refusal, task };
  return { cancel: 'pending', refusal: null, task };
}
