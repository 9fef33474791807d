import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import { readTasks, type Task } from '../task.ts';
import { beginCancel, type CancelBegun, NotCancellable, providerResponse } from './cancel.ts';

/** How long a request waits for what the provider says and for the end of the task. */
const WAIT_SECONDS = 10;
const LOOK_SECONDS = 0.2;
const RETRY_AFTER_SECONDS = 5;

/**
 * What became of a cancel: `cancelled`: the task failed and is refunded; `pending`: the provider
 * was asked, and the task shows how it ends; `refused`: the task goes on.
 */
export interface OwnCancel {
  cancel: 'cancelled' | 'pending' | 'refused';
  /** Why it was refused. */
  refusal: 'video_is_finished' | 'provider_cannot' | null;
  /** The task as it is now. */
  task: Task;
}

/**
 * Cancels a task for the customer who owns it.
 * @throws NotCancellable when it is held or has ended; ApiError `service_busy` when its submit was
 *   under way for the whole time
 */
export async function cancelOwn(
  db: Database,
  task: Task,
  waitSeconds = WAIT_SECONDS,
): Promise<OwnCancel> {
  const deadline = performance.now() + waitSeconds * 1000;
  if (task.phase === 'completed' || (task.phase === 'failed' && task.error_code !== 'cancelled')) {
    throw new NotCancellable('ended', task.phase);
  }
  if (task.phase === 'failed') return { cancel: 'cancelled', refusal: null, task };
  const begun = await begin(db, task.id, deadline);
  if (begun === 'archiving') return outcome(db, task, 'video_is_finished');
  if (begun.cancel === 'done') return outcome(db, task, null);
  const response = await providerResponse(db, task.id, deadline);
  if (response?.state === 'refused') return outcome(db, task, 'provider_cannot');
  return outcome(db, await endOf(db, task, deadline), null);
}

/** Begins the cancel. A submit that is under way is waited for: its outcome decides. */
async function begin(
  db: Database,
  taskId: string,
  deadline: number,
): Promise<CancelBegun | 'archiving'> {
  for (;;) {
    try {
      const options = { cause: { cancelled_by: 'customer' }, alsoHeldOutcome: false };
      return await db.transaction((tx) => beginCancel(tx, taskId, options));
    } catch (error) {
      if (!(error instanceof NotCancellable)) throw error;
      if (error.obstacle === 'archiving') return 'archiving';
      if (error.obstacle !== 'submitting') throw error;
      if (performance.now() >= deadline) throw submitting(error);
      await delay(LOOK_SECONDS * 1000);
    }
  }
}

function submitting(cause: Error): ApiError {
  const message = 'The task is being submitted at this moment. Send the request again.';
  const details = { reason: 'submitting' };
  return new ApiError('service_busy', message, {
    details,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    cause,
  });
}

/** The task when it has ended, or when the time is over. */
async function endOf(db: Database, task: Task, deadline: number): Promise<Task> {
  for (;;) {
    const [now = task] = await readTasks(db, [task.id]);
    const hasEnded = now.phase === 'completed' || now.phase === 'failed';
    if (hasEnded || performance.now() >= deadline) return now;
    await delay(LOOK_SECONDS * 1000);
  }
}

async function outcome(
  db: Database,
  before: Task,
  known: OwnCancel['refusal'],
): Promise<OwnCancel> {
  const [task = before] = await readTasks(db, [before.id]);
  if (task.error_code === 'cancelled') return { cancel: 'cancelled', refusal: null, task };
  const isFinished = task.phase === 'completed' || task.phase === 'archiving';
  const refusal = known ?? (isFinished ? 'video_is_finished' : null);
  if (refusal !== null) return { cancel: 'refused', refusal, task };
  return { cancel: 'pending', refusal: null, task };
}
