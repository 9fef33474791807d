import { namedStatement, type Queryable, statement } from '../../database/database.ts';
import { hashToken, newToken } from '../sessions.ts';
import type { ProviderName, SignInStart } from './identity-provider.ts';

/** How long a sign-in at the provider may take. */
export const START_SECONDS = 600;

/** A sign-in that continues at a provider; `next` is where the person goes afterwards. */
export interface StoredStart extends Omit<SignInStart, 'redirectUri'> {
  provider: ProviderName;
  next: string;
}

const STORE = namedStatement(
  'start_store',
  ['hash', 'provider', 'state', 'nonce', 'codeVerifier', 'next'],
  `insert into sign_in_starts
     (token_hash, provider, state, nonce, code_verifier, next, expires_at)
   values (:hash, :provider, :state, :nonce, :codeVerifier, :next,
     clock_now() + interval '${START_SECONDS} seconds')`,
);

/** @returns the token for the short-lived cookie of the browser that begins */
export async function storeStart(
  db: Queryable,
  provider: ProviderName,
  next: string,
): Promise<{ token: string; start: StoredStart }> {
  const token = newToken();
  const start = {
    ...{ provider, next, state: newToken(), nonce: newToken(), codeVerifier: newToken() },
  };
  await db.query(STORE, STORE.values({ ...start, hash: hashToken(token) }));
  return { token, start };
}

const TAKE = statement(
  'start_take',
  `delete from sign_in_starts
   where token_hash = $1 and provider = $2 and expires_at > clock_now()
   returning provider, state, nonce, code_verifier as "codeVerifier", next`,
);

/** Deletes the start of this browser, so that it is used once; undefined if there is none. */
export async function takeStart(
  db: Queryable,
  provider: string,
  token: string,
): Promise<StoredStart | undefined> {
  const [start] = await db.query<StoredStart>(TAKE, [hashToken(token), provider]);
  return start;
}
