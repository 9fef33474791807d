import { hash, randomBytes } from 'node:crypto';
import { joinAccount } from '../accounts/account-sql.ts';
import { countingHits, type RateLimit, tooManyRequests } from '../accounts/rate-window.ts';
import {
  command,
  namedStatement,
  type Queryable,
  query,
  queryColumn,
  queryFirst,
  type Transaction,
  whether,
} from '../database/database.ts';
import { newId } from '../kernel/ids.ts';

/** The absolute lifetime of a session. */
export const SESSION_DAYS = 90;
/** A session ends when unused for this long. */
const IDLE_DAYS = 14;

const MAX_SESSIONS = 50;

/** Requests of one account in browsers, over all its sessions. */
const REQUESTS_OF_ACCOUNT: RateLimit = { max: 240, seconds: 60 };

/** How long a sign-in or proof allows acts that need a fresh proof. */
export const PROOF_MINUTES = 10;

export interface Session {
  sessionId: string;
  accountId: string;
  email: string;
  /** When the account was created. */
  createdAt: Date;
  /** Whether the person signed in, or gave a fresh proof, in the last few minutes. */
  hasFreshProof: boolean;
}

export interface SignedInFrom {
  method: string;
  /** See `networkOf`; null if unknown. */
  network: string | null;
  /** Such as `Firefox on Linux`. */
  browser: string | null;
  /** The token of the session that this one replaces, from the browser's cookie. */
  replaces?: string | undefined;
}

const BEGIN = namedStatement(
  'session_begin',
  `insert into sessions (id, token_hash, account_id, method, network, browser, expires_at)
   values (:id, :hash, :account, :method, :network, :browser,
     clock_now() + interval '${SESSION_DAYS} days')`,
);

/** The database keeps only a token's SHA-256. */
export function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

// Deletes the oldest sessions over the limit, and the browser's previous one.
const replace = command<[accountId: string, tokenHash: Buffer | null]>(
  'session_replace',
  `delete from sessions where token_hash = $2 or id in (
     select id from sessions where account_id = $1
     order by created_at desc offset ${MAX_SESSIONS - 1})`,
);

/** @returns a new token for the cookie; only its hash is stored */
export async function beginSession(
  db: Queryable,
  accountId: string,
  { replaces, method, network, browser }: SignedInFrom,
): Promise<string> {
  const token = newToken();
  await replace(db, accountId, replaces === undefined ? null : hashToken(replaces));
  const values = { method, network, browser, account: accountId, hash: hashToken(token) };
  await db.query(BEGIN, BEGIN.values({ ...values, id: newId('session') }));
  return token;
}

// A proof more than a minute in the future dates from before the clock was set back.
const find = queryFirst<[tokenHash: Buffer], Session & { admitted: boolean }>(
  'session_find',
  `with caller as (
     select s.id, s.account_id, s.seen_at, a.email, a.created_at,
       coalesce(s.proved_at, s.created_at)
         between clock_now() - interval '${PROOF_MINUTES} minutes'
           and clock_now() + interval '1 minute' as is_proved
     from sessions s ${joinAccount('s.account_id')}
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
     caller.created_at as "createdAt", caller.is_proved as "hasFreshProof",
     counted.subject is not null as admitted
   from caller left join counted on true`,
);

/**
 * Finds the session of a token, keeps it alive and counts the request in its account's rate
 * window, all in one statement.
 * @returns undefined if it is unknown, revoked or expired, or its account is disabled
 * @throws ApiError `rate_limited`
 */
export async function findSession(db: Queryable, token: string): Promise<Session | undefined> {
  const row = await find(db, hashToken(token));
  if (!row) return undefined;
  const { admitted, ...session } = row;
  if (!admitted) throw await tooManyRequests(db, `web:${session.accountId}`, REQUESTS_OF_ACCOUNT);
  return session;
}

/** @returns false if the session has ended */
export const recordProof = whether<[sessionId: string]>(
  'session_prove',
  'update sessions set proved_at = clock_now() where id = $1 returning id',
);

/** Lock the account first: then an operator's sign-out can't interleave. */
export const isSessionLive = whether<[sessionId: string], Transaction>(
  'session_lives',
  'select from sessions where id = $1',
);

/** @returns false if the account has no such session */
export const endSession = whether<[sessionId: string, accountId: string]>(
  'session_end',
  'delete from sessions where id = $1 and account_id = $2 returning id',
);

/** @returns the ids of all sessions of the account */
export const endSessions = queryColumn<[accountId: string], string>(
  'session_end_all',
  'delete from sessions where account_id = $1 returning id',
);

export interface SessionListing {
  id: string;
  created_at: Date;
  /** Up to an hour old if the session is in use. */
  seen_at: Date;
  expires_at: Date;
  /** The sign-in method: code, passkey, github, google or oidc. */
  method: string;
  network: string | null;
  browser: string | null;
}

/** An account's live sessions, last used first. */
export const listSessions = query<[accountId: string], SessionListing>(
  'session_list',
  `select id, created_at, seen_at,
     least(expires_at, seen_at + interval '${IDLE_DAYS} days') as expires_at,
     method, network, browser
   from sessions
   where account_id = $1 and expires_at > clock_now()
     and seen_at > clock_now() - interval '${IDLE_DAYS} days'
   order by seen_at desc, id`,
);
