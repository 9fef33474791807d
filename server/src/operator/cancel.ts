import { setTimeout as delay } from 'node:timers/promises';
import type { Database, Transaction } from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import { currentAttempt } from '../tasks/attempts/attempts.ts';
import { readCancel, requestCancel } from '../tasks/attempts/cancel-requests.ts';
import { takeLease } from '../tasks/lease.ts';
import { lockState } from '../tasks/listing/task-listing.ts';
import { PHASES_BEFORE_ACCEPTANCE, type Phase } from '../tasks/task.ts';
import { move } from '../tasks/transitions.ts';
import { isBeforeAcceptance } from '../tasks/waiting.ts';
import { type Action, performAction } from './actions.ts';

interface Cancelled {
  task_id: string;
  phase: string;
  /** `done`: refunded. `requested`, `accepted`: what became of the request to the provider. */
  cancel: 'done' | 'requested' | 'accepted';
  changed: boolean;
}

/** How long the command waits for what the provider says. */
const WAIT_SECONDS = 15;

/**
 * Cancels a task. Before its submit it fails with its refund. After its acceptance the provider is
 * asked to cancel the job, by a worker; the task ends when the provider shows how the job ended.
 * While a submit is under way, or its outcome is not known, nothing can be cancelled: there may be
 * a job.
 * @returns changed: false when it was cancelled, or that was requested, before
 * @throws UsageError, with the reason, when it can't be cancelled or the provider refuses
 */
export async function cancelTask(
  db: Database,
  action: Action,
  taskId: string,
  waitSeconds = WAIT_SECONDS,
): Promise<Cancelled> {
  const result = await performAction(db, action, { target: taskId }, (tx) =>
    cancel(tx, taskId, { operator: action.reason }),
  );
  return result.cancel === 'done' ? result : awaitProvider(db, result, waitSeconds);
}

async function cancel(
  tx: Transaction,
  taskId: string,
  cause: Record<string, unknown>,
): Promise<Cancelled> {
  const state = await lockState(tx, taskId);
  if (state.error_code === 'cancelled') {
    return { task_id: taskId, phase: state.phase, cancel: 'done', changed: false };
  }
  if (isBeforeAcceptance(state)) return cancelBeforeSubmit(tx, taskId, cause);
  if (state.phase === 'generating' || state.held_cause === 'outcome') {
    const changed = await requestCancel(tx, taskId);
    return { task_id: taskId, phase: state.phase, cancel: 'requested', changed };
  }
  throw new UsageError(`${taskId} is ${state.phase}: ${REFUSALS[state.phase] ?? ''}`);
}

const REFUSALS: Partial<Record<Phase, string>> = {
  held: 'its provider may have a job of it. Decide the task instead',
  archiving: 'its video is finished and is being copied',
  completed: 'there is nothing to cancel',
  failed: 'there is nothing to cancel',
};

/** The lock on the task's row orders this and the record of a new attempt: see insertAttempt. */
async function cancelBeforeSubmit(
  tx: Transaction,
  taskId: string,
  cause: Record<string, unknown>,
): Promise<Cancelled> {
  const task = await takeLease(tx, taskId, PHASES_BEFORE_ACCEPTANCE);
  if (!task) throw new Error(`${taskId} moved under a lock`);
  if (await currentAttempt(tx, taskId)) {
    throw new UsageError(`${taskId} is being submitted at this moment: try again in a minute`);
  }
  const message = 'The task was cancelled by the service. The credits are refunded.';
  const error = { code: 'cancelled', message } as const;
  const moved = await move(tx, task, { to: 'failed', changes: { error }, cause });
  return { task_id: taskId, phase: moved.phase, cancel: 'done', changed: true };
}

async function awaitProvider(
  db: Database,
  requested: Cancelled,
  waitSeconds: number,
): Promise<Cancelled> {
  const deadline = performance.now() + waitSeconds * 1000;
  for (;;) {
    const request = await readCancel(db, requested.task_id);
    if (request?.state === 'accepted') return { ...requested, cancel: 'accepted' };
    if (request?.state === 'refused') {
      throw new UsageError(`${requested.task_id} goes on: ${request.cause}`);
    }
    if (performance.now() >= deadline) return requested;
    await delay(200);
  }
}
