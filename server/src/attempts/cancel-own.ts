import type { Database } from '../database/database.ts';
import { ApiError } from '../kernel/errors.ts';
import { readTasks, type Task } from '../tasks/task.ts';
import { hasEnded } from '../tasks/waiting.ts';
import {
  beginCancel,
  type CancelBegun,
  mayLookAgain,
  NotCancellable,
  type Patience,
  providerResponse,
} from './cancel.ts';

/** How long a request waits for what the provider says and for the end of the task. */
const WAIT_SECONDS = 10;
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
 * @param stopping ends the wait: the task shows what becomes of it
 * @throws NotCancellable when it is held or has ended; ApiError `service_busy` when its submit was
 *   under way for the whole time
 */
export async function cancelOwn(
  db: Database,
  task: Task,
  stopping: AbortSignal,
): Promise<OwnCancel> {
  const patience = { deadline: performance.now() + WAIT_SECONDS * 1000, stopping };
  if (task.phase === 'completed' || (task.phase === 'failed' && task.error_code !== 'cancelled')) {
    throw new NotCancellable('ended', task.phase);
  }
  if (task.phase === 'failed') return { cancel: 'cancelled', refusal: null, task };
  const begun = await begin(db, task.id, patience);
  if (begun === 'archiving') return outcome(db, task, 'video_is_finished');
  if (begun.cancel === 'done') return outcome(db, task, null);
  const response = await providerResponse(db, task.id, patience);
  if (response?.state === 'refused') return outcome(db, task, 'provider_cannot');
  return outcome(db, await endOf(db, task, patience), null);
}

/** Begins the cancel. A submit that is under way is waited for: its outcome decides. */
async function begin(
  db: Database,
  taskId: string,
  patience: Patience,
): Promise<CancelBegun | 'archiving'> {
  const cause = { cancelled_by: 'customer' } as const;
  const options = { cause, alsoHeldOutcome: false };
  for (;;) {
    try {
      return await db.transaction((tx) => beginCancel(tx, taskId, options));
    } catch (error) {
      if (!(error instanceof NotCancellable)) throw error;
      if (error.obstacle === 'archiving') return 'archiving';
      if (error.obstacle !== 'submitting') throw error;
      if (!(await mayLookAgain(patience))) throw submitting(error);
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
async function endOf(db: Database, task: Task, patience: Patience): Promise<Task> {
  for (;;) {
    const [now = task] = await readTasks(db, [task.id]);
    if (hasEnded(now) || !(await mayLookAgain(patience))) return now;
  }
}

async function outcome(
  db: Database,
  before: Task,
  known: OwnCancel['refusal'],
): Promise<OwnCancel> {
  const [task = before] = await readTasks(db, [before.id]);
  if (task.error_code === 'cancelled') return { cancel: 'cancelled', refusal: null, task };
  if (task.phase === 'failed') throw new NotCancellable('ended', task.phase);
  const isFinished = task.phase === 'completed' || task.phase === 'archiving';
  const refusal = isFinished ? 'video_is_finished' : known;
  if (refusal !== null) return { cancel: 'refused', refusal, task };
  return { cancel: 'pending', refusal: null, task };
}
