import { command, type Queryable, queryValue, whether } from '../database/database.ts';
import { ApiError, type RatePolicy } from '../kernel/errors.ts';
import { evictOldest } from '../kernel/evict-oldest.ts';

const MAX_KEYS = 10_000;

/** How long to trust that a window is full: its API key may be revoked, or the window emptied. */
const TRUSTED_MS = 1000;

/**
 * The rate windows known to be full in this process. Their requests are refused without the
 * database (decisions/0016). A window is the list of an API key's or address's last requests.
 * @param now monotonic milliseconds
 * @param errorOf the error for a request that may be retried after these seconds
 */
export function openFullWindows(now: () => number, errorOf: (seconds: number) => ApiError) {
  const full = new Map<string, { until: number; checkAt: number }>();
  const exclusively = createKeyedMutex();
  const error = (until: number) => errorOf(Math.max(1, Math.ceil((until - now()) / 1000)));
  const check = (key: string) => {
    const entry = full.get(key);
    if (!entry) return;
    if (now() < entry.until && now() < entry.checkAt) throw error(entry.until);
    full.delete(key); // this request asks the database; the others wait for it
  };
  return {
    /**
     * Runs work that counts a request, one at a time per key: an earlier one may find the window
     * full.
     * @throws ApiError `rate_limited` from memory; errors of the work
     */
    run: <T>(key: string, work: () => Promise<T>): Promise<T> =>
      exclusively(key, () => {
        check(key);
        return work();
      }),
    /**
     * Records a full window.
     * @param until when a request can pass again, in milliseconds of the clock
     * @returns the error for the request that found it full
     */
    limitError(key: string, until: number): ApiError {
      evictOldest(full, MAX_KEYS);
      full.set(key, { until, checkAt: now() + TRUSTED_MS });
      return error(until);
    },
  };
}

/**
 * A per-key mutex. If a call fails for a reason that is not the client's request (the database is
 * unavailable), the calls queued behind it fail with the same error at once.
 */
export function createKeyedMutex() {
  const last = new Map<string, Promise<void>>();
  return async <T>(id: string, work: () => Promise<T>): Promise<T> => {
    const previous = last.get(id);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    promise.catch(() => {}); // there may be no next call
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

/** At most `max` requests in any `seconds`. */
export interface RateLimit {
  max: number;
  seconds: number;
  /** The policy name sent to API clients, if they are told. */
  name?: string;
}

/**
 * SQL that counts one hit in each selected key's rate window, and returns the admitted keys with
 * their hits, the newest `max`. Each window's row is locked, so it is exact across processes (C9).
 * A refused request adds no hit.
 * @param keys a select of one column; it must be ordered, or statements could deadlock
 */
export function countingHits(keys: string, max: number | string, seconds: number | string): string {
  return `insert into request_windows as w (subject, hits)
    select key, array[clock_now()] from (${keys}) counted (key)
    on conflict (subject) do update
      set hits = w.hits[greatest(cardinality(w.hits) - ${max} + 2, 1):] || clock_now()
      where cardinality(w.hits) < ${max}
        or w.hits[cardinality(w.hits) - ${max} + 1]
          <= clock_now() - make_interval(secs => ${seconds})
    returning subject, hits`;
}

/** Counts a request. @returns false if the window of this key is full */
export const countHit = whether<[key: string, max: number, seconds: number]>(
  'rate_count',
  countingHits('select $1::text', '$2::int', '$3::float8'),
);

/** Seconds until a hit leaves a full window; 0 if the window is gone. */
export const secondsUntilFree = queryValue<[key: string, max: number, seconds: number], number>(
  'rate_window_retry_after',
  `select extract(epoch from hits[greatest(cardinality(hits) - $2::int + 1, 1)]
     + make_interval(secs => $3::float8) - clock_now())::float8 as seconds
   from request_windows where subject = $1`,
  0,
);

/**
 * @param key unique among all rate windows, such as `ip:203.0.113.7`
 * @throws ApiError `rate_limited` if the window is full
 */
export async function countRequest(db: Queryable, key: string, limit: RateLimit): Promise<void> {
  if (await countHit(db, key, limit.max, limit.seconds)) return;
  throw await tooManyRequests(db, key, limit);
}

/** The error for a full window. It says when the next request can pass. */
export async function tooManyRequests(
  db: Queryable,
  key: string,
  { max, seconds, name }: RateLimit,
): Promise<ApiError> {
  const free = await secondsUntilFree(db, key, max, seconds);
  const wait = Math.ceil(Math.max(1, Math.min(seconds, free)));
  return refusal(wait, name === undefined ? undefined : { name, max, seconds });
}

function refusal(seconds: number, policy?: RatePolicy): ApiError {
  const message = `Too many requests. Try again in ${seconds} s.`;
  return new ApiError('rate_limited', message, { retryAfterSeconds: seconds, policy });
}

/** Remembers which windows were found full in this process. @param now monotonic milliseconds */
export function openRateMemory(now = () => performance.now()) {
  const full = openFullWindows(now, (seconds) => refusal(seconds));
  return {
    run: <T>(key: string, count: () => Promise<T>): Promise<T> =>
      full.run(key, async () => {
        const askedAt = now();
        try {
          return await count();
        } catch (error) {
          if (!(error instanceof ApiError) || error.code !== 'rate_limited') throw error;
          throw full.limitError(key, askedAt + (error.retryAfterSeconds ?? 1) * 1000);
        }
      }),
  };
}

// The condition is checked again after the lock, since a hit may have come meanwhile.
/** Deletes windows without a hit in the last two days: no window is that long. */
export const forgetIdleWindows = command<[]>(
  'rate_forget_idle',
  `delete from request_windows where ctid = any(array(
     select ctid from request_windows
     where coalesce(hits[cardinality(hits)], '-infinity') < clock_now() - interval '2 days'
     limit 10000))
     and coalesce(hits[cardinality(hits)], '-infinity') < clock_now() - interval '2 days'`,
);

/** A CTE for the readiness check: takes the table lock of a counted request, changes no row. */
export const TOUCH_WINDOWS =
  'window_touched as (update request_windows set hits = hits where false)';
