import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import type { Queryable } from '../../database/database.ts';
import { type Entered, enter, requireOpen, type SignInDeps } from '../enter.ts';
import type { SignedInFrom } from '../sessions.ts';
import { type ChallengeOwner, NOBODY, storeChallenge } from './challenges.ts';
import { checkPasskey, passkeyFailed, usePasskey } from './check-passkey.ts';
import { passkeyHost } from './passkeys.ts';

/**
 * What a browser needs to use a passkey of this host. To sign in they are the same for everybody.
 * @throws ApiError `sign_in_failed` if this address has no passkeys
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

/**
 * Signs a person in by a passkey.
 * @throws ApiError `sign_in_failed`, `account_disabled`
 */
export async function enterByPasskey(
  { db, publicUrl, onReopened }: Omit<SignInDeps, 'signupCredits'> & { publicUrl: string },
  response: { id: string },
  from: Omit<SignedInFrom, 'method'>,
): Promise<Entered> {
  const checked = await checkPasskey({ db, publicUrl }, response, NOBODY);
  const { accountId } = checked;
  return db.transaction(async (tx) => {
    // The account is locked before the passkey, as where an operator removes it.
    const reopened = await requireOpen(tx, accountId, onReopened);
    await usePasskey(tx, checked);
    return enter(tx, { accountId, reopened }, { ...from, method: 'passkey' });
  });
}
