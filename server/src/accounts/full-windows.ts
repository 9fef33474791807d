import { ApiError } from '../kernel/errors.ts';
import { forgetOldest } from '../kernel/forget-oldest.ts';

/** How many full windows a process remembers. The oldest are forgotten. */
const MAX_KEYS = 10_000;

/**
 * How long a full window is trusted without a look at the database: then one request asks it again,
 * so that a process learns of an API key that was revoked, or of a window that was emptied.
 */
const TRUSTED_MS = 1000;

/**
 * The rate windows that are full, as far as this process knows. Their requests are refused from
 * memory, so that they cost the database nothing (decisions/0016).
 */
export interface FullWindows {
  /**
   * Runs work that counts a request in the window of a key. The requests of one key take turns: an
   * earlier one may find that the window is full.
   * @throws ApiError `rate_limited` from memory; what the work throws
   */
  run<T>(key: string, work: () => Promise<T>): Promise<T>;
  /**
   * Remembers that the window of a key is full.
   * @param until when a request passes again, in milliseconds of the clock
   * @returns the error of the request that found this out
   */
  add(key: string, until: number): ApiError;
}

/**
 * @param now monotonic milliseconds
 * @param errorOf the error of a request that may be sent again after so many seconds
 */
export function openFullWindows(
  now: () => number,
  errorOf: (seconds: number) => ApiError,
): FullWindows {
  const full = new Map<string, { until: number; checkAt: number }>();
  const inTurn = createTurns();
  const error = (until: number) => errorOf(Math.max(1, Math.ceil((until - now()) / 1000)));
  const check = (key: string) => {
    const entry = full.get(key);
    if (!entry) return;
    if (now() < entry.until && now() < entry.checkAt) throw error(entry.until);
    full.delete(key); // this request asks the database; the others wait for their turn
  };
  return {
    run: (key, work) =>
      inTurn(key, () => {
        check(key);
        return work();
      }),
    add(key, until) {
      forgetOldest(full, MAX_KEYS);
      full.set(key, { until, checkAt: now() + TRUSTED_MS });
      return error(until);
    },
  };
}

/**
 * Makes a function that runs the calls of one key one after the other. When a call fails for
 * another reason than the client's request (the database is unavailable), the calls that wait for
 * it fail with the same error at once.
 */
export function createTurns() {
  const last = new Map<string, Promise<void>>();
  return async <T>(id: string, work: () => Promise<T>): Promise<T> => {
    const previous = last.get(id);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    promise.catch(() => {}); // there may be no later call
    last.set(id, promise);
    try {
      await previous;
      return await work();
    } catch (error) {
      if (!(error instanceof ApiError)) reject(error);
      throw error;
    } finally {
      resolve();
      if (last.get(id) === promise) last.delete(id);
    }
  };
}
