import { namedStatement, type Queryable, queryFirst } from '../../database/database.ts';
import { hashToken, newToken } from '../sessions.ts';

/** The state of a sign-in while the person is at the issuer. */
export interface SignInStart {
  state: string;
  nonce: string;
  /** The PKCE verifier. */
  codeVerifier: string;
  /** Where the issuer redirects back to. */
  redirectUri: string;
}

export interface OutsideIdentity {
  /** Permanent, unlike the e-mail address. */
  subject: string;
  email: string | undefined;
  isEmailVerified: boolean;
}

/** An identity provider: GitHub, or an OpenID Connect issuer. */
export interface Issuer {
  identifier: string;
  /** @throws Error if the issuer does not respond */
  authorizationUrl(start: SignInStart): Promise<string>;
  /**
   * @param parameters of the URL that the person was redirected to
   * @throws IdentityRefused, or another Error if the issuer does not respond properly
   */
  identify(parameters: URLSearchParams, start: SignInStart): Promise<OutsideIdentity>;
}

/** An issuer's name in the website's paths. */
export type IssuerName = 'github' | 'google' | 'oidc';

export class IdentityRefused extends Error {
  override name = 'IdentityRefused';
  readonly isDenied: boolean; // by the person, at the issuer

  constructor(
    message: string,
    { isDenied = false, cause }: { isDenied?: boolean; cause?: unknown },
  ) {
    super(message, { cause });
    this.isDenied = isDenied;
  }
}

/** How long a sign-in at the issuer may take. */
export const START_SECONDS = 600;

/** A sign-in in progress at an issuer; `next` is the page to show afterwards. */
export interface StoredStart extends Omit<SignInStart, 'redirectUri'> {
  issuer: IssuerName;
  next: string;
}

const STORE = namedStatement(
  'start_store',
  `insert into sign_in_starts
     (token_hash, provider, state, nonce, code_verifier, next, expires_at)
   values (:hash, :issuer, :state, :nonce, :codeVerifier, :next,
     clock_now() + interval '${START_SECONDS} seconds')`,
);

/** @returns the token for a short-lived cookie of the browser that began the sign-in */
export async function storeStart(
  db: Queryable,
  issuer: IssuerName,
  next: string,
): Promise<{ token: string; start: StoredStart }> {
  const token = newToken();
  const secrets = { state: newToken(), nonce: newToken(), codeVerifier: newToken() };
  const start = { issuer, next, ...secrets };
  await db.query(STORE, STORE.values({ ...start, hash: hashToken(token) }));
  return { token, start };
}

const take = queryFirst<[tokenHash: Buffer, issuer: string], StoredStart>(
  'start_take',
  `delete from sign_in_starts
   where token_hash = $1 and provider = $2 and expires_at > clock_now()
   returning provider as issuer, state, nonce, code_verifier as "codeVerifier", next`,
);

/** Takes the sign-in that this browser has started, once; undefined if there is none. */
export function takeStart(db: Queryable, issuer: string, token: string) {
  return take(db, hashToken(token), issuer);
}
