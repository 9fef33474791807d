import { setTimeout as delay } from 'node:timers/promises';
import { type Queryable, statement } from '../database/database.ts';
import { batch } from '../kernel/batch.ts';
import { ApiError } from '../kernel/errors.ts';
import { evictOldest } from '../kernel/evict-oldest.ts';
import { openFullWindows } from './rate-window.ts';

export type KeyGate = ReturnType<typeof openKeyGate>;

/**
 * A process's cache of API keys, shared by all its routes. Rejects bad keys before they reach the
 * batched admission query (decisions/0016).
 * @param now monotonic milliseconds
 */
export function openKeyGate(db: Queryable, now = () => performance.now()) {
  const known = openKnownKeys(db, now);
  const full = openFullWindows(now, windowFullError);
  return {
    db,
    now,
    /**
     * Runs `admit` for a request whose key is known to exist, one request per key at a time.
     * @throws ApiError `unauthorized` if there is no such key, `rate_limited` from memory if its
     *   window is known to be full, `service_busy` if too many unknown keys are waiting
     */
    async run<T>(secretHash: Buffer, admit: () => Promise<T>): Promise<T> {
      await known.require(secretHash);
      return full.run(idOf(secretHash), admit);
    },
    /** Forces a look-up at the key's next request. */
    forget: (secretHash: Buffer) => known.forget(idOf(secretHash)),
    /** Records a full window and returns the error: see {@link openFullWindows}. */
    limitError: (secretHash: Buffer, until: number) => full.limitError(idOf(secretHash), until),
  };
}

/** A hash as a map key. */
function idOf(secretHash: Buffer): string {
  return secretHash.toString('latin1');
}

/** Beyond these, the oldest keys are evicted. */
const MAX_KNOWN = 200_000;
const MAX_REFUSED = 10_000;

const ALL = statement(
  'key_hashes',
  'select secret_hash from api_keys where revoked_at is null limit 100000',
);

const LOOK_UP = statement(
  'key_look_up',
  `select k.secret_hash,
     k.revoked_at is null and a.disabled_at is null
       and (k.expires_at is null or k.expires_at > clock_now()) as valid
   from api_keys k join accounts a on a.id = k.account_id
   where k.secret_hash = any($1)`,
);

/** How many unknown keys share a statement. Only one look-up runs at a time. */
const MAX_LOOK_UPS = 64;
/**
 * The pause after a look-up, per key that it refused. So a process looks up about 1,000 made-up
 * keys a second at most. Valid keys cause no delay.
 */
const PAUSE_PER_REFUSED_KEY_MS = 1;
const MAX_PAUSE_MS = MAX_LOOK_UPS * PAUSE_PER_REFUSED_KEY_MS;
const MAX_WAITING = 5000;
/** How long a key that doesn't exist is refused from memory. */
const REFUSED_MS = 10_000;

function openKnownKeys(db: Queryable, now: () => number) {
  const known = new Set<string>();
  const refused = new Map<string, number>();
  const waiting = new Map<string, Promise<void>>();
  let loading: Promise<void> | undefined;
  let freeAt = 0;

  const add = (id: string) => {
    evictOldest(known, MAX_KNOWN);
    known.add(id);
  };
  const load = async () => {
    for (const row of await db.query<{ secret_hash: Buffer }>(ALL)) add(idOf(row.secret_hash));
  };
  /** Loads up to 100,000 existing keys at once, so that they never queue with made-up keys. */
  const loadOnce = () => {
    loading ??= load().catch((error) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
  const refuse = (id: string) => {
    evictOldest(refused, MAX_REFUSED);
    refused.set(id, now() + REFUSED_MS);
  };
  const lookUpTogether = batch({
    name: 'key_look_up',
    maxItems: MAX_LOOK_UPS,
    concurrency: 1,
    maxWaiting: MAX_WAITING,
    tooMany: tooManyUnknownKeys,
    keyOf: idOf,
    async work(hashes: Buffer[]): Promise<boolean[]> {
      if (freeAt > now()) await delay(Math.min(freeAt - now(), MAX_PAUSE_MS));
      const rows = await db.query<{ secret_hash: Buffer; valid: boolean }>(LOOK_UP, [hashes]);
      const found = new Map(rows.map((row) => [idOf(row.secret_hash), row.valid]));
      for (const id of hashes.map(idOf)) if (!found.has(id)) refuse(id);
      const results = hashes.map((hash) => found.get(idOf(hash)) === true);
      freeAt = now() + results.filter((valid) => !valid).length * PAUSE_PER_REFUSED_KEY_MS;
      return results;
    },
  });
  const lookUp = async (secretHash: Buffer): Promise<void> => {
    const id = idOf(secretHash);
    await loadOnce();
    if (known.has(id)) return;
    if (!(await lookUpTogether(secretHash))) throw invalidKey();
    add(id);
  };
  return {
    forget: (id: string) => known.delete(id),
    /** @throws ApiError `unauthorized`, `service_busy` */
    async require(secretHash: Buffer): Promise<void> {
      const id = idOf(secretHash);
      if (known.has(id)) return;
      if ((refused.get(id) ?? 0) > now()) throw invalidKey();
      if (!waiting.has(id) && waiting.size >= MAX_WAITING) throw tooManyUnknownKeys();
      const shared = waiting.get(id) ?? lookUp(secretHash).finally(() => waiting.delete(id));
      waiting.set(id, shared);
      return shared;
    },
  };
}

export function invalidKey(): ApiError {
  const message = 'The API key is unknown, revoked or expired, or its account is disabled.';
  return new ApiError('unauthorized', message);
}

function tooManyUnknownKeys(): ApiError {
  const message = 'Too many requests with unknown API keys are waiting. Send the request again.';
  return new ApiError('service_busy', message, { retryAfterSeconds: 1 });
}

/** Contract, "Limits": 30 authenticated requests in any 60 seconds, per API key. */
export const REQUESTS_PER_WINDOW = 30;
export const WINDOW_SECONDS = 60;

export const KEY_POLICY = { name: 'default', max: REQUESTS_PER_WINDOW, seconds: WINDOW_SECONDS };

export function windowFullError(seconds: number): ApiError {
  const sent = `This API key sent ${REQUESTS_PER_WINDOW} requests in 60 seconds.`;
  return new ApiError('rate_limited', `${sent} The next one passes in ${seconds} seconds.`, {
    retryAfterSeconds: seconds,
    policy: KEY_POLICY,
  });
}
