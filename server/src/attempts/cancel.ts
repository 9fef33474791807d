import { setTimeout as delay } from 'node:timers/promises';
import type { Database, Transaction } from '../database/database.ts';
import { takeLease } from '../tasks/lease.ts';
import { PHASES_BEFORE_ACCEPTANCE, type Phase } from '../tasks/task.ts';
import { lockState } from '../tasks/task-listing.ts';
import { move } from '../tasks/transitions.ts';
import { isBeforeAcceptance } from '../tasks/waiting.ts';
import { currentAttempt } from './attempts.ts';
import { readCancel, requestCancel } from './cancel-requests.ts';

/** What a customer reads of a cancelled task. */
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

/** Who cancels a task; of an operator with the reason. It is kept in the history of the task. */
export type CancelCause =
  | { cancelled_by: 'customer' }
  | { cancelled_by: 'operator'; operator: string | null };

/** `done`: the task failed and is refunded; `requested`: a worker asks the provider. */
export interface CancelBegun {
  task_id: string;
  phase: Phase;
  cancel: 'done' | 'requested';
  /** False when it was cancelled, or that was requested, before. */
  changed: boolean;
}

/**
 * Cancels a task, or requests it. Before its submit the task fails with its refund. After its
 * acceptance a worker asks the provider to cancel the job, and the task ends when the provider
 * shows how the job ended. While a submit is under way, or its outcome is not known, nothing can be
 * cancelled: there may be a job.
 * @param options.alsoHeldOutcome whether to ask the provider too if it is held for its outcome
 * @throws NotCancellable; UsageError when there is no such task, or it is archived
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
  const isHeldOutcome = state.held_cause === 'outcome' && options.alsoHeldOutcome;
  if (phase === 'generating' || isHeldOutcome) {
    const changed = await requestCancel(tx, taskId, options.cause.cancelled_by);
    return { task_id: taskId, phase, cancel: 'requested', changed };
  }
  throw new NotCancellable(obstacleOf(phase), phase);
}

function obstacleOf(phase: Phase): CancelObstacle {
  return phase === 'held' || phase === 'archiving' ? phase : 'ended';
}

/** The lock on the task's row orders this and the record of a new attempt: see insertAttempt. */
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

/** How long is waited: up to a time of `performance.now()`, or until the process stops. */
export interface Patience {
  deadline: number;
  stopping?: AbortSignal;
}

/** Waits a moment. @returns false when the time is over */
export async function mayLookAgain({ deadline, stopping }: Patience): Promise<boolean> {
  const isOver = () => stopping?.aborted === true || performance.now() >= deadline;
  if (isOver()) return false;
  await delay(LOOK_SECONDS * 1000, undefined, { signal: stopping }).catch(() => {});
  return true;
}

/**
 * Waits for what the provider says to a request to cancel.
 * @returns undefined when the time is over
 */
export async function providerResponse(
  db: Database,
  taskId: string,
  patience: Patience,
): Promise<{ state: 'accepted' } | { state: 'refused'; cause: string } | undefined> {
  for (;;) {
    const request = await readCancel(db, taskId);
    if (request?.state === 'accepted') return { state: 'accepted' };
    if (request?.state === 'refused') return { state: 'refused', cause: request.cause ?? '' };
    if (!(await mayLookAgain(patience))) return undefined;
  }
}
