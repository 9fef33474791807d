import {
  command,
  type Queryable,
  type Statement,
  statement,
  type Transaction,
} from '../database/database.ts';
import { batch } from '../kernel/batch.ts';
import { ApiError } from '../kernel/errors.ts';
import { TEST_SURFACE } from '../ledger/transfer.ts';
import { hashSecret, looksLikeSecret } from './api-keys.ts';
import { invalidKey, type KeyGate, REQUESTS_PER_WINDOW, WINDOW_SECONDS } from './key-gate.ts';
import { countingHits, secondsUntilFree } from './rate-window.ts';

const WINDOW = `interval '${WINDOW_SECONDS} seconds'`;
/** How many of a window's `hits`, which are sorted by time, are older than the window. */
const EXPIRED = `width_bucket(clock_now() - ${WINDOW}, hits)`;

/**
 * SQL that a route adds to the admitting statement, to read a row. It may use `caller`: account_id,
 * key_id, and `surface` and `argument` from the {@link AdmissionRequest}.
 */
export interface CallerRead {
  columns: string;
  joins: string;
  /** The values from `$4` on. */
  values?: readonly unknown[];
  /** Splits a full queue into two statements. Off for creates: fewer would share a transaction. */
  isPipelined?: boolean;
}

/** The account, API key and surface (C20) of an admitted request. */
export type Caller = ReturnType<typeof callerFrom>;

export interface AdmissionRequest {
  authorization: string | undefined;
  /** The surface that received it (C20). A test key's caller gets the surface `test`. */
  surface: string;
  /** A text that the SQL of the {@link CallerRead} uses. */
  argument?: string;
}

const MAX_REQUESTS = 64;
// Both are per route and process.
const MAX_STATEMENTS = 2;
const MAX_WAITING = 5000;
const BUSY =
  'Too many requests are waiting. Send the request again, with the same Idempotency-Key.';

/**
 * Makes a function that authenticates a request, counts it in its API key's rate window and reads
 * the route's row. Requests that arrive together share one statement and its commit
 * (decisions/0007). The window is exact across processes (C9): each admitted request is a hit, the
 * key's row is locked while its 30th newest hit is read, a refused request adds no hit, and two
 * requests of one key never share a statement. The function throws ApiError `unauthorized` or
 * `rate_limited`, with the whole seconds until the next request can be admitted.
 * @param gate shared by all routes of a process
 * @param name of the prepared statement, unique in the program
 */
export function openAdmission<Row extends object>(gate: KeyGate, name: string, read?: CallerRead) {
  const { db } = gate;
  const sql = admittingStatement(name, read);
  const admit = batch({
    name,
    maxItems: MAX_REQUESTS,
    concurrency: MAX_STATEMENTS,
    isPipelined: read?.isPipelined,
    maxWaiting: MAX_WAITING,
    tooMany: () => new ApiError('service_busy', BUSY, { retryAfterSeconds: 1 }),
    keyOf: ({ secretHash }: Batched) => secretHash.toString('latin1'),
    work: (requests) => admitTogether<Row>(db, sql, { requests, values: read?.values ?? [] }),
  });
  return async ({ authorization, surface, argument = '' }: AdmissionRequest) => {
    const secretHash = hashSecret(secretOf(authorization));
    return gate.run(secretHash, async () => {
      const row = await admit({ secretHash, surface, argument });
      if (!row) {
        gate.forget(secretHash);
        throw invalidKey();
      }
      if (!row.admitted) throw gate.limitError(secretHash, await nextPassAt(gate, row.key_id));
      return { caller: callerFrom(row), row };
    });
  };
}

function callerFrom(row: ResultRow<object>) {
  return {
    accountId: row.account_id,
    keyId: row.key_id,
    hasCap: row.has_cap,
    surface: row.caller_surface,
    /** How many more requests the window admits before its oldest hit leaves it. */
    remaining: Math.max(0, REQUESTS_PER_WINDOW - row.used),
    /** Seconds until then. */
    resetSeconds: Math.max(1, Math.min(WINDOW_SECONDS, Math.ceil(row.reset_seconds))),
  };
}

interface Batched {
  secretHash: Buffer;
  surface: string;
  argument: string;
}

// Rows are locked in key order, so that statements of two processes that share keys can't deadlock.
function admittingStatement(name: string, read?: CallerRead): Statement {
  return statement(
    name,
    `with caller as (
       select batched.ordinal, batched.argument, k.id as key_id, k.account_id,
         case k.mode when 'test' then '${TEST_SURFACE}' else batched.surface end as surface,
         k.monthly_cap is not null as has_cap
       from unnest($1::bytea[], $2::text[], $3::text[])
         with ordinality as batched (secret_hash, surface, argument, ordinal)
       join api_keys k on k.secret_hash = batched.secret_hash
       join accounts a on a.id = k.account_id
       where k.revoked_at is null and a.disabled_at is null
         and (k.expires_at is null or k.expires_at > clock_now())),
     admitted as (${countingHits(
       'select key_id from caller order by key_id',
       REQUESTS_PER_WINDOW,
       WINDOW_SECONDS,
     )})
     select caller.ordinal::int as ordinal, caller.key_id, caller.account_id, caller.has_cap,
       caller.surface as caller_surface, admitted.subject is not null as admitted,
       cardinality(hits) - ${EXPIRED} as used,
       extract(epoch from hits[${EXPIRED} + 1] + ${WINDOW} - clock_now())::float8 as reset_seconds
       ${read ? `, ${read.columns}` : ''}
     from caller left join admitted on admitted.subject = caller.key_id
       ${read?.joins ?? ''}`,
  );
}

/** Empties rate windows with hits in the future: the database's clock was set back. */
export const forgetFutureRequests = command<[], Transaction>(
  'rate_forget_future',
  `update request_windows set hits = '{}' where hits[cardinality(hits)] > clock_now()`,
);

type ResultRow<Row> = Row & {
  ordinal: number;
  key_id: string;
  account_id: string;
  has_cap: boolean;
  caller_surface: string;
  admitted: boolean;
  /** Hits in the window, including this one. */
  used: number;
  reset_seconds: number; // until the oldest hit leaves the window
};

async function admitTogether<Row extends object>(
  db: Queryable,
  sql: Statement,
  { requests, values }: { requests: Batched[]; values: readonly unknown[] },
) {
  const hashes = requests.map(({ secretHash }) => secretHash);
  const surfaces = requests.map(({ surface }) => surface);
  const texts = requests.map(({ argument }) => argument);
  const rows = await db.query<ResultRow<Row>>(sql, [hashes, surfaces, texts, ...values]);
  const byOrdinal = new Map(rows.map((row) => [row.ordinal, row]));
  return requests.map((_, i) => byOrdinal.get(i + 1));
}

/** @throws ApiError `unauthorized` if the secret is missing or malformed, without a query */
export function secretOf(authorization = ''): string {
  const secret = /^bearer +(\S+) *$/i.exec(authorization)?.[1];
  if (secret !== undefined && looksLikeSecret(secret)) return secret;
  const missing = 'Send your API key as "Authorization: Bearer <API_KEY>".';
  throw new ApiError('unauthorized', secret ? 'The API key is malformed.' : missing);
}

/**
 * When the key's next request can be admitted, in milliseconds of the gate's clock. The clock is
 * read before the query, so the result is never too late.
 */
async function nextPassAt({ db, now }: KeyGate, keyId: string): Promise<number> {
  const askedAt = now();
  const seconds = await secondsUntilFree(db, keyId, REQUESTS_PER_WINDOW, WINDOW_SECONDS);
  // Anything longer means that the database's clock was set back.
  return askedAt + Math.floor(Math.min(WINDOW_SECONDS, seconds) * 1000);
}
