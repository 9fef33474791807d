import { type Queryable, type Statement, statement } from '../kernel/database.ts';
import { ApiError } from '../kernel/errors.ts';
import { hashSecret, looksLikeSecret } from './api-keys.ts';

/** Contract, "Limits": 30 authenticated requests in any 60 seconds, per API key. */
export const REQUESTS_PER_WINDOW = 30;
const WINDOW = `interval '60 seconds'`;

/** What another room reads in the admitting statement. `caller` has account_id and key_id. */
export interface CallerRead {
  columns: string;
  joins: string;
}

/** Who is asking, once admitted, with the columns of the {@link CallerRead}. */
export type Admitted<Row> = Row & { key_id: string; account_id: string };

/**
 * The one statement that authenticates a request, counts it in its key's rate window and reads what
 * the route wants. The window is exact across processes: the key's row is locked while its 30th
 * newest hit is looked at, and a refused request adds nothing.
 * $1 is the hash of the secret; `read` may use $2 and so on.
 */
export function admittingStatement(name: string, read: CallerRead): Statement {
  return statement(
    name,
    `with caller as (
       select k.id as key_id, k.account_id
       from api_keys k join accounts a on a.id = k.account_id
       where k.secret_hash = $1 and k.revoked_at is null and a.disabled_at is null
         and (k.expires_at is null or k.expires_at > clock_now())),
     admitted as (
       insert into rate_windows as w (key_id, hits)
       select key_id, array[clock_now()] from caller
       on conflict (key_id) do update
         set hits = w.hits[greatest(cardinality(w.hits) - ${REQUESTS_PER_WINDOW - 2}, 1):]
           || clock_now()
         where cardinality(w.hits) < ${REQUESTS_PER_WINDOW}
           or w.hits[cardinality(w.hits) - ${REQUESTS_PER_WINDOW - 1}] <= clock_now() - ${WINDOW}
       returning key_id)
     select caller.key_id, caller.account_id, admitted.key_id is not null as admitted,
       ${read.columns}
     from caller left join admitted on true ${read.joins}`,
  );
}

const RETRY_AFTER = statement(
  'rate_retry_after',
  `select greatest(1, ceil(extract(epoch from
       hits[cardinality(hits) - ${REQUESTS_PER_WINDOW - 1}] + ${WINDOW} - clock_now()
     )))::int as seconds
   from rate_windows where key_id = $1`,
);

/**
 * Admits a request by its Authorization header.
 * @throws ApiError `unauthorized` (missing, malformed, unknown, expired or revoked key, or a
 * disabled account), `rate_limited` with the whole seconds until a request would pass
 */
export async function admit<Row extends object>(
  db: Queryable,
  request: { authorization: string | undefined; sql: Statement; values?: unknown[] },
): Promise<Admitted<Row>> {
  const secret = /^bearer +(\S+) *$/i.exec(request.authorization ?? '')?.[1];
  if (secret === undefined)
    throw unauthorized('Send your API key as "Authorization: Bearer <API_KEY>".');
  if (!looksLikeSecret(secret)) throw unauthorized('The API key is not valid.');
  const values = [hashSecret(secret), ...(request.values ?? [])];
  const [row] = await db.query<Admitted<Row> & { admitted: boolean }>(request.sql, values);
  if (!row) throw unauthorized('The API key is not valid, or no longer so.');
  if (!row.admitted) throw await rateLimited(db, row.key_id);
  return row;
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
