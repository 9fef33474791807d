import { first, namedStatement, type Queryable, statement } from '../../database/database.ts';
import { hashToken, newToken } from '../sessions.ts';
import type { IssuerName, SignInStart } from './issuer.ts';

/** How long a sign-in at the issuer may take. */
export const START_SECONDS = 600;

/** A sign-in that continues at an issuer; `next` is where the person goes afterwards. */
export interface StoredStart extends Omit<SignInStart, 'redirectUri'> {
  issuer: IssuerName;
  next: string;
}

const STORE = namedStatement(
  'start_store',
  ['hash', 'issuer', 'state', 'nonce', 'codeVerifier', 'next'],
  `insert into sign_in_starts
     (token_hash, provider, state, nonce, code_verifier, next, expires_at)
   values (:hash, :issuer, :state, :nonce, :codeVerifier, :next,
     clock_now() + interval '${START_SECONDS} seconds')`,
);

/** @returns the token for the short-lived cookie of the browser that begins */
export async function storeStart(
  db: Queryable,
  issuer: IssuerName,
  next: string,
): Promise<{ token: string; start: StoredStart }> {
  const token = newToken();
  const start = {
    issuer,
    next,
    state: newToken(),
    nonce: newToken(),
    codeVerifier: newToken(),
  };
  await db.query(STORE, STORE.values({ ...start, hash: hashToken(token) }));
  return { token, start };
}

const TAKE = statement(
  'start_take',
  `delete from sign_in_starts
   where token_hash = $1 and provider = $2 and expires_at > clock_now()
   returning provider as issuer, state, nonce, code_verifier as "codeVerifier", next`,
);

/** Deletes the start of this browser, so that it is used once; undefined if there is none. */
export async function takeStart(
  db: Queryable,
  issuer: string,
  token: string,
): Promise<StoredStart | undefined> {
  return first<StoredStart>(db, TAKE, [hashToken(token), issuer]);
}
