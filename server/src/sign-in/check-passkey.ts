import { isIP } from 'node:net';
import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server';
import {
  command,
  type Database,
  isDatabaseUnavailable,
  type Queryable,
  queryFirst,
  type Transaction,
  whether,
} from '../database/database.ts';
import { ApiError } from '../kernel/errors.ts';
import { type Entered, enter, lockAndReopen, type SignInDeps } from './enter.ts';
import type { SignedInFrom } from './sessions.ts';

/** The host that passkeys belong to; undefined for an IP address, where browsers allow none. */
export function passkeyHost(publicUrl: string): string | undefined {
  const { hostname } = new URL(publicUrl);
  return isIP(hostname.replaceAll(/[[\]]/g, '')) === 0 ? hostname : undefined;
}

/** Who must respond to a challenge, and for what. */
interface ChallengeOwner {
  /** null: a sign-in. */
  accountId: string | null;
  /** The session that needs a fresh proof; null: a passkey is being added. */
  sessionId: string | null;
}

/** A sign-in: nobody is known yet. */
export const NOBODY: ChallengeOwner = { accountId: null, sessionId: null };

type ChallengeOf = [challenge: string, accountId: string | null, sessionId: string | null];

const store = command<ChallengeOf>(
  'challenge_store',
  `insert into passkey_challenges (challenge, account_id, session_id, expires_at)
   values ($1, $2, $3, clock_now() + interval '5 minutes')`,
);

export function storeChallenge(db: Queryable, challenge: string, owner: ChallengeOwner) {
  return store(db, challenge, owner.accountId, owner.sessionId);
}

const take = whether<ChallengeOf>(
  'challenge_take',
  `delete from passkey_challenges
   where challenge = $1 and account_id is not distinct from $2
     and session_id is not distinct from $3 and expires_at > clock_now()
   returning challenge`,
);

/** Deletes the challenge, so that a recorded response can't be replayed. @returns whether it existed */
export async function takeChallenge(
  db: Queryable,
  challenge: string,
  { accountId, sessionId }: ChallengeOwner,
): Promise<boolean> {
  return /^[\w-]+$/.test(challenge) && take(db, challenge, accountId, sessionId);
}

interface StoredPasskey {
  account_id: string;
  public_key: Buffer;
  counter: number;
  transports: AuthenticatorTransport[];
}

const find = queryFirst<[id: string], StoredPasskey>(
  'passkey_find',
  'select account_id, public_key, counter, transports from passkeys where id = $1',
);

export type CheckedPasskey = Awaited<ReturnType<typeof checkPasskey>>;

/**
 * Verifies a browser's response to a challenge of this owner, and uses the challenge up. The
 * caller then records the use by {@link usePasskey}.
 * @throws ApiError `sign_in_failed`
 */
export async function checkPasskey(
  { db, publicUrl }: { db: Database; publicUrl: string },
  response: { id: string },
  owner: ChallengeOwner,
) {
  const stored = await find(db, response.id);
  if (!stored) throw passkeyFailed();
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
  const { public_key, counter, transports } = stored;
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: response as AuthenticationResponseJSON, // validated by the library
      expectedChallenge: (challenge) => takeChallenge(db, challenge, owner),
      expectedOrigin: new URL(publicUrl).origin,
      expectedRPID: passkeyHost(publicUrl) ?? '',
      credential: { id: response.id, publicKey: new Uint8Array(public_key), counter, transports },
      requireUserVerification: true,
    });
    if (verified) {
      const { newCounter } = authenticationInfo;
      return { id: response.id, accountId: stored.account_id, counter: newCounter };
    }
  } catch (cause) {
    if (isDatabaseUnavailable(cause)) throw cause;
    throw passkeyFailed(cause);
  }
  throw passkeyFailed();
}

// A counter that does not grow means a cloned key. Most passkeys don't count, and always send 0.
const recordUse = whether<[id: string, counter: number], Transaction>(
  'passkey_used',
  `update passkeys set counter = $2, used_at = clock_now()
   where id = $1 and (counter < $2 or $2 = 0) returning id`,
);

/** @throws ApiError `sign_in_failed` if the passkey was removed meanwhile, or used with this counter */
export async function usePasskey(
  tx: Transaction,
  { id, counter }: Pick<CheckedPasskey, 'id' | 'counter'>,
): Promise<void> {
  if (!(await recordUse(tx, id, counter))) throw passkeyFailed();
}

export function passkeyFailed(cause?: unknown): ApiError {
  const message = 'This passkey is not known here. Use another passkey, or a code.';
  return new ApiError('sign_in_failed', message, { cause });
}

/**
 * Stores a new challenge for the owner.
 * @returns options for the browser, which name no account
 * @throws ApiError `sign_in_failed` if PUBLIC_URL names an IP address
 */
export async function challengeOptions(
  { db, publicUrl }: { db: Queryable; publicUrl: string },
  owner: ChallengeOwner = NOBODY,
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const rpID = passkeyHost(publicUrl);
  if (rpID === undefined) throw passkeyFailed();
  const { generateAuthenticationOptions } = await import('@simplewebauthn/server');
  const options = await generateAuthenticationOptions({ rpID, userVerification: 'required' });
  await storeChallenge(db, options.challenge, owner);
  return options;
}

/** @throws ApiError `sign_in_failed`, `account_disabled` */
export async function enterByPasskey(
  { db, publicUrl, onReopened }: Omit<SignInDeps, 'signupCredits'> & { publicUrl: string },
  response: { id: string },
  from: Omit<SignedInFrom, 'method'>,
): Promise<Entered> {
  const checked = await checkPasskey({ db, publicUrl }, response, NOBODY);
  const { accountId } = checked;
  return db.transaction(async (tx) => {
    // Lock the account before the passkey, in the same order as an operator's removal.
    const reopened = await lockAndReopen(tx, accountId, onReopened);
    await usePasskey(tx, checked);
    return enter(tx, { accountId, reopened }, { ...from, method: 'passkey' });
  });
}
