import type { Queryable } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import { allowNextCreate, tryCreate } from '../../providers/host/outages.ts';

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

function notTaken(retryAfterSeconds: number): ApiError {
  const message =
    'New tasks are not taken for now, and nothing was reserved. Retry after Retry-After.';
  return new ApiError('service_busy', message, {
    details: { reason: 'not_taken' },
    retryAfterSeconds,
  });
}
