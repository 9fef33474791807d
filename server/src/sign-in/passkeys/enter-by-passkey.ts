import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server';
import {
  type Database,
  isDatabaseUnavailable,
  type Queryable,
  statement,
} from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import { enter } from '../enter.ts';
import type { SignedInFrom } from '../sessions.ts';
import { storeChallenge, takeChallenge } from './challenges.ts';
import { passkeyHost } from './passkeys.ts';

/** What a browser needs to sign in by a passkey of this host. They are the same for everybody. */
export async function challengeOptions({
  db,
  publicUrl,
}: {
  db: Queryable;
  publicUrl: string;
}): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const rpID = passkeyHost(publicUrl);
  if (rpID === undefined) throw failed();
  const { generateAuthenticationOptions } = await import('@simplewebauthn/server');
  const options = await generateAuthenticationOptions({ rpID, userVerification: 'required' });
  await storeChallenge(db, options.challenge, null);
  return options;
}

interface StoredPasskey {
  account_id: string;
  public_key: Buffer;
  counter: number;
  transports: AuthenticatorTransport[];
}

const FIND = statement(
  'passkey_find',
  'select account_id, public_key, counter, transports from passkeys where id = $1',
);

// Of two sign-ins with one counter, one is by a copy of the key. Most passkeys do not count: 0.
const USED = statement(
  'passkey_used',
  `update passkeys set counter = $2, used_at = clock_now()
   where id = $1 and (counter < $2 or $2 = 0) returning id`,
);

/**
 * Signs a person in by a passkey.
 * @returns the token for the cookie
 * @throws ApiError `sign_in_failed`, `account_disabled`
 */
export async function enterByPasskey(
  { db, publicUrl }: { db: Database; publicUrl: string },
  response: { id: string },
  from: Omit<SignedInFrom, 'method'>,
): Promise<string> {
  const [stored] = await db.query<StoredPasskey>(FIND, [response.id]);
  if (!stored) throw failed();
  const counter = await verify({ db, publicUrl }, stored, response);
  return db.transaction(async (tx) => {
    if ((await tx.query(USED, [response.id, counter])).length === 0) throw failed();
    return enter(tx, stored.account_id, { ...from, method: 'passkey' });
  });
}

/** @returns the new counter */
async function verify(
  { db, publicUrl }: { db: Database; publicUrl: string },
  { public_key, counter, transports }: StoredPasskey,
  response: { id: string },
): Promise<number> {
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: response as AuthenticationResponseJSON, // it checks what it is given
      expectedChallenge: (challenge) => takeChallenge(db, challenge, null),
      expectedOrigin: new URL(publicUrl).origin,
      expectedRPID: passkeyHost(publicUrl) ?? '',
      credential: { id: response.id, publicKey: new Uint8Array(public_key), counter, transports },
      requireUserVerification: true,
    });
    if (verified) return authenticationInfo.newCounter;
  } catch (cause) {
    if (isDatabaseUnavailable(cause)) throw cause;
    throw failed(cause);
  }
  throw failed();
}

function failed(cause?: unknown): ApiError {
  const message = 'This passkey is not known here. Use another passkey, or a code.';
  return new ApiError('sign_in_failed', message, { cause });
}
