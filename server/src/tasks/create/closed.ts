import type { Queryable } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import { allowNextCreate, tryCreate } from '../../providers/circuit-breaker/outages.ts';
import { DiskFull, type FreeSpace } from '../../storage/free-space.ts';
import { expectedOutputBytes } from '../expected-output.ts';
import type { CheckedRequest } from './new-task.ts';

/** Whether new tasks can be submitted, read by the statement that admits the create. */
export interface CreateClosures {
  /** An operator paused all creates or the provider of new tasks. */
  paused: boolean;
  /** Seconds until the provider may take jobs; 0 or less: one create may try; null: open. */
  closed_seconds: number | null;
}

/** The Retry-After while an operator has paused creates, and while one create tries. */
const PAUSED_SECONDS = 30;
const TRIED_SECONDS = 2;

/**
 * Runs a create, unless its task could not be submitted now. If it is refused, nothing has been
 * reserved for it, and its Idempotency-Key is not bound.
 * @throws ApiError `service_busy`, or what the create throws
 */
export async function createUnlessClosed<T>(
  db: Queryable,
  providerName: string,
  { paused, closed_seconds: seconds }: CreateClosures,
  create: () => Promise<T>,
): Promise<T> {
  if (paused) throw notTaken(PAUSED_SECONDS);
  if (seconds === null) return create();
  if (seconds > 0) throw notTaken(Math.ceil(seconds));
  if (!(await tryCreate(db, providerName))) throw notTaken(TRIED_SECONDS);
  try {
    return await create();
  } catch (error) {
    // No task was created, for example without credits: another create may try at once.
    await allowNextCreate(db, providerName).catch(() => {});
    throw error;
  }
}

/** The Retry-After while the disk has no room for the output of another task. */
const FULL_SECONDS = 30;

/**
 * Runs a create if the disk has room for its output beside those of all live tasks. Otherwise an
 * accepted task could not end, while its client waits and its credits are reserved.
 * @throws ApiError as {@link createUnlessClosed}
 */
export async function createWithSpace<T>(
  space: Pick<FreeSpace, 'withSpace'>,
  { request, binding }: CheckedRequest,
  create: () => Promise<T>,
): Promise<T> {
  try {
    const bytes = expectedOutputBytes(request, binding.surface);
    return await space.withSpace('input', bytes, create);
  } catch (error) {
    throw error instanceof DiskFull ? notTaken(FULL_SECONDS, error) : error;
  }
}

function inWords(seconds: number): string {
  return seconds < 120 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`;
}

function notTaken(retryAfterSeconds: number, cause?: unknown): ApiError {
  const wait = inWords(retryAfterSeconds);
  const message = `New tasks are not taken now, and nothing was reserved. Try again in ${wait}.`;
  return new ApiError('service_busy', message, {
    details: { reason: 'not_taken' },
    retryAfterSeconds,
    cause,
  });
}
