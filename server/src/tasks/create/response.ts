import type { Database } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import { type FailureCode, readTask, type Task } from '../task.ts';
import type { Waiting } from '../waiting.ts';
import { announce } from './idempotency-keys.ts';

/** The Retry-After unless the provider asked for another. */
const RETRY_AFTER_SECONDS = 5;

/** The waiting POST's error when a task fails before acceptance (C1). */
const REFUSALS: Partial<Record<FailureCode, 'invalid_request' | 'service_busy'>> = {
  invalid_media: 'invalid_request',
  content_refused: 'invalid_request',
  invalid_request: 'invalid_request',
  not_accepted: 'service_busy',
  provider_unavailable: 'service_busy',
};

/**
 * Waits for the outcome of a new task's acceptance and decides the response to the POST (C1).
 * @returns the task, for 202: it was accepted, or is still in progress after the wait
 * @throws ApiError `invalid_request` or `service_busy`, with `task_id` and, if certain, `credits`
 * in its details
 */
export async function awaitResponse(
  deps: { db: Database; waiting: Pick<Waiting, 'outcome'>; createWaitSeconds: number },
  created: Task,
): Promise<Task> {
  try {
    const decided = await deps.waiting.outcome(created.id, deps.createWaitSeconds);
    const task = decided ?? (await announceOrRead(deps.db, created));
    return responseFor(await announceHeld(deps.db, task));
  } catch (cause) {
    if (cause instanceof ApiError) throw cause;
    throw unreadableTask(created, cause);
  }
}

/**
 * The error when the task can't be read or announced. It says nothing about the credits of a task
 * that was not announced: the task may have failed with its refund and released its key.
 */
function unreadableTask(created: Task, cause: unknown): ApiError {
  if (created.announced_at !== null) return busy(created, 'held', { cause });
  const message = 'Temporarily unavailable. Send the request again with the same Idempotency-Key.';
  const details = { task_id: created.id };
  return new ApiError('service_busy', message, { cause, details, retryAfterSeconds: 1 });
}

async function announceOrRead(db: Database, created: Task): Promise<Task> {
  if (created.announced_at !== null) return created;
  return (await announce(db, created.id)) ?? readTask(db, created.id);
}

async function announceHeld(db: Database, task: Task): Promise<Task> {
  if (task.phase !== 'held' || task.announced_at !== null) return task;
  return announceOrRead(db, task);
}

/**
 * Returns the task for a 202; throws every other response as an error. Exported for tests.
 * @throws ApiError see {@link awaitResponse}
 */
export function responseFor(task: Task): Task {
  if (task.phase === 'held' && task.held_cause === 'acceptance') throw busy(task, 'held');
  if (task.accepted_at !== null) return task; // even if it has failed since
  const code = task.error_code === null ? undefined : REFUSALS[task.error_code];
  if (code === undefined) return task;
  if (code === 'service_busy') throw busy(task, 'refunded');
  const details = { reason: task.error_code, ...task.error_details };
  throw new ApiError(code, task.error_message ?? 'The request was refused.', {
    details: { ...details, task_id: task.id, credits: 'refunded' },
  });
}

function busy(task: Task, credits: 'held' | 'refunded', options: { cause?: unknown } = {}) {
  const message =
    credits === 'held'
      ? 'It is not known yet if a provider accepted the task. Retry with the same Idempotency-Key.'
      : 'The task could not be started for now. Retry with the same Idempotency-Key.';
  return new ApiError('service_busy', message, {
    ...options,
    details: { task_id: task.id, credits },
    retryAfterSeconds: providerRetryAfter(task) ?? RETRY_AFTER_SECONDS,
  });
}

/** The wait in seconds that a busy provider asked for. */
function providerRetryAfter({ error_details: details }: Task): number | undefined {
  const asked = details?.retry_after_seconds;
  return typeof asked === 'number' ? asked : undefined;
}
