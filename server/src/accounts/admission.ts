import { type Queryable, type Statement, statement } from '../database/database.ts';
import { batch } from '../kernel/batch.ts';
import { ApiError } from '../kernel/errors.ts';
import { hashSecret, looksLikeSecret } from './api-keys.ts';

/** Contract, "Limits": 30 authenticated requests in any 60 seconds, per API key. */
export const REQUESTS_PER_WINDOW = 30;
const WINDOW = `interval '60 seconds'`;

/**
 * What another room reads in the admitting statement. `caller` has account_id, key_id and
 * `argument`, the text that the request brings.
 */
export interface CallerRead {
  columns: string;
  joins: string;
}

/** Who is asking, once admitted, with the columns of the {@link CallerRead}. */
export type Admitted<Row> = Row & { key_id: string; account_id: string };

/** A request to be admitted: its Authorization header, and the `argument` of the read. */
export interface AdmissionRequest {
  authorization: string | undefined;
  argument?: string;
}

/** Requests that share a statement, at most, and statements under way at once. */
const MAX_TOGETHER = 64;
const TURNS = 3;

/**
 * Authenticates requests, counts them in their keys' rate windows and reads what the route wants,
 * in one statement for all requests that arrive together: one commit serves many. The window is
 * exact across processes: a key's row is locked while its 30th newest hit is looked at, a refused
 * request adds nothing, and no two requests of a key share a statement.
 * @param name unique in the program
 * @returns a function that admits a request; it throws ApiError `unauthorized` (missing, malformed,
 * unknown, expired or revoked key, or a disabled account) or `rate_limited`, with the whole seconds
 * until a request would pass
 */
export function openAdmission<Row extends object>(
  db: Queryable,
  name: string,
  read: CallerRead,
): (request: AdmissionRequest) => Promise<Admitted<Row>> {
  const sql = admittingStatement(name, read);
  const ask = batch({
    maxItems: MAX_TOGETHER,
    concurrency: TURNS,
    keyOf: (asked: Asked) => asked.secret,
    work: (together) => askTogether<Row>(db, sql, together),
  });
  return async ({ authorization, argument = '' }) => {
    const row = await ask({ secret: secretOf(authorization), argument });
    if (!row) throw unauthorized('The API key is not valid, or no longer so.');
    if (!row.admitted) throw await rateLimited(db, row.key_id);
    return row;
  };
}

interface Asked {
  secret: string;
  argument: string;
}

// Rows are locked in the order of their keys, so that statements of several processes, which may
// have keys in common, never wait for each other in a circle.
function admittingStatement(name: string, read: CallerRead): Statement {
  return statement(
    name,
    `with caller as (
       select asked.place, asked.argument, k.id as key_id, k.account_id
       from unnest($1::bytea[], $2::text[]) with ordinality as asked (secret_hash, argument, place)
       join api_keys k on k.secret_hash = asked.secret_hash
       join accounts a on a.id = k.account_id
       where k.revoked_at is null and a.disabled_at is null
         and (k.expires_at is null or k.expires_at > clock_now())),
     admitted as (
       insert into rate_windows as w (key_id, hits)
       select key_id, array[clock_now()] from caller order by key_id
       on conflict (key_id) do update
         set hits = w.hits[greatest(cardinality(w.hits) - ${REQUESTS_PER_WINDOW - 2}, 1):]
           || clock_now()
         where cardinality(w.hits) < ${REQUESTS_PER_WINDOW}
           or w.hits[cardinality(w.hits) - ${REQUESTS_PER_WINDOW - 1}] <= clock_now() - ${WINDOW}
       returning key_id)
     select caller.place::int as place, caller.key_id, caller.account_id,
       admitted.key_id is not null as admitted, ${read.columns}
     from caller left join admitted on admitted.key_id = caller.key_id ${read.joins}`,
  );
}

type Answered<Row> = Admitted<Row> & { admitted: boolean; place: number };

async function askTogether<Row extends object>(db: Queryable, sql: Statement, asked: Asked[]) {
  const hashes = asked.map(({ secret }) => hashSecret(secret));
  const rows = await db.query<Answered<Row>>(sql, [hashes, asked.map(({ argument }) => argument)]);
  const byPlace = new Map(rows.map((row) => [row.place, row]));
  return asked.map((_, i) => byPlace.get(i + 1));
}

const RETRY_AFTER = statement(
  'rate_retry_after',
  `select greatest(1, ceil(extract(epoch from
       hits[cardinality(hits) - ${REQUESTS_PER_WINDOW - 1}] + ${WINDOW} - clock_now()
     )))::int as seconds
   from rate_windows where key_id = $1`,
);

/** The secret of a bearer header. What can't be one is refused without a look-up. */
function secretOf(authorization = ''): string {
  const secret = /^bearer +(\S+) *$/i.exec(authorization)?.[1];
  if (secret === undefined) {
    throw unauthorized('Send your API key as "Authorization: Bearer <API_KEY>".');
  }
  if (!looksLikeSecret(secret)) throw unauthorized('The API key is not valid.');
  return secret;
}

function unauthorized(message: string): ApiError {
  return new ApiError('unauthorized', message);
}

async function rateLimited(db: Queryable, keyId: string): Promise<ApiError> {
  const [row] = await db.query<{ seconds: number | null }>(RETRY_AFTER, [keyId]);
  return new ApiError(
    'rate_limited',
    `More than ${REQUESTS_PER_WINDOW} requests in 60 seconds for this API key.`,
    { retryAfterSeconds: row?.seconds ?? 1 },
  );
}
