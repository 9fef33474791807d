import { hash, randomBytes } from 'node:crypto';
import { countingHits, type RateLimit, tooManyRequests } from '../accounts/rate-window.ts';
import { namedStatement, type Queryable, statement } from '../database/database.ts';
import { newId } from '../kernel/ids.ts';

/** A session ends this long after the sign-in, whatever happens. */
const SESSION_DAYS = 90;
/** A session ends when it was not used for this long. */
const IDLE_DAYS = 14;

/** The requests of one account in the browser, over all its sessions. */
const REQUESTS_OF_ACCOUNT: RateLimit = { max: 240, seconds: 60 };

/** Who is signed in. */
export interface Session {
  sessionId: string;
  accountId: string;
  email: string;
}

/** How a person signed in, and from where. */
export interface SignedInFrom {
  method: string;
  /** See `networkOf`; null if it is not known. */
  network: string | null;
  /** Such as `Firefox on Linux`. */
  browser: string | null;
}

const BEGIN = namedStatement(
  'session_begin',
  ['id', 'hash', 'account', 'method', 'network', 'browser'],
  `insert into sessions (id, token_hash, account_id, method, network, browser, expires_at)
   values (:id, :hash, :account, :method, :network, :browser,
     clock_now() + interval '${SESSION_DAYS} days')`,
);

/** Of a token that only its owner has, the database keeps the SHA-256. */
function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

/** 32 random bytes in base64url. */
function newToken(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * Signs an account in.
 * @returns the token for the cookie; only its hash is stored
 */
export async function beginSession(
  db: Queryable,
  accountId: string,
  from: SignedInFrom,
): Promise<string> {
  const token = newToken();
  const values = { id: newId('session'), hash: hashToken(token), account: accountId, ...from };
  await db.query(BEGIN, BEGIN.values(values));
  return token;
}

const FIND = statement(
  'session_find',
  `with caller as (
     select s.id, s.account_id, s.seen_at, a.email
     from sessions s join accounts a on a.id = s.account_id
     where s.token_hash = $1 and s.expires_at > clock_now() and a.disabled_at is null
       and s.seen_at > clock_now() - interval '${IDLE_DAYS} days'),
   counted as (${countingHits(
     `select 'web:' || account_id from caller`,
     REQUESTS_OF_ACCOUNT.max,
     REQUESTS_OF_ACCOUNT.seconds,
   )}),
   seen as (
     update sessions s set seen_at = clock_now() from caller
     where s.id = caller.id and caller.seen_at < clock_now() - interval '1 hour')
   select caller.id as "sessionId", caller.account_id as "accountId", caller.email,
     counted.key_id is not null as admitted
   from caller left join counted on true`,
);

/**
 * The session with this token, read and counted in the rate window of its account in one statement.
 * A session that is used stays alive.
 * @returns undefined if it is unknown, revoked or expired, or its account is disabled
 * @throws ApiError `rate_limited`
 */
export async function findSession(db: Queryable, token: string): Promise<Session | undefined> {
  const [row] = await db.query<Session & { admitted: boolean }>(FIND, [hashToken(token)]);
  if (!row) return undefined;
  const { admitted, ...session } = row;
  if (!admitted) throw await tooManyRequests(db, `web:${session.accountId}`, REQUESTS_OF_ACCOUNT);
  return session;
}

const END = statement('session_end', 'delete from sessions where id = $1 and account_id = $2');

/** Ends a session of this account; its next request is refused. */
export async function endSession(
  db: Queryable,
  { accountId, sessionId }: Pick<Session, 'accountId' | 'sessionId'>,
): Promise<void> {
  await db.query(END, [sessionId, accountId]);
}
