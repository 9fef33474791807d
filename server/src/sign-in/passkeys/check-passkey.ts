import type { AuthenticationResponseJSON, AuthenticatorTransport } from '@simplewebauthn/server';
import {
  type Database,
  isDatabaseUnavailable,
  statement,
  type Transaction,
} from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import { type ChallengeOwner, takeChallenge } from './challenges.ts';
import { passkeyHost } from './passkeys.ts';

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

/** A response whose signature is right. It is used up by {@link usePasskey}. */
export type CheckedPasskey = Awaited<ReturnType<typeof checkPasskey>>;

/**
 * Checks a browser's response to a challenge of ours.
 * @param owner whom the challenge was made for
 * @throws ApiError `sign_in_failed`
 */
export async function checkPasskey(
  { db, publicUrl }: { db: Database; publicUrl: string },
  response: { id: string },
  owner: ChallengeOwner,
) {
  const [stored] = await db.query<StoredPasskey>(FIND, [response.id]);
  if (!stored) throw passkeyFailed();
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
  const { public_key, counter, transports } = stored;
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: response as AuthenticationResponseJSON, // it checks what it is given
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

// Of two uses with one counter, one is by a copy of the key. Most passkeys do not count: 0.
const USED = statement(
  'passkey_used',
  `update passkeys set counter = $2, used_at = clock_now()
   where id = $1 and (counter < $2 or $2 = 0) returning id`,
);

/**
 * Notes the use of a passkey.
 * @throws ApiError `sign_in_failed` if it was removed, or was used with this counter, meanwhile
 */
export async function usePasskey(
  tx: Transaction,
  { id, counter }: Pick<CheckedPasskey, 'id' | 'counter'>,
): Promise<void> {
  if ((await tx.query(USED, [id, counter])).length === 0) throw passkeyFailed();
}

export function passkeyFailed(cause?: unknown): ApiError {
  const message = 'This passkey is not known here. Use another passkey, or a code.';
  return new ApiError('sign_in_failed', message, { cause });
}
