import type {
  PublicKeyCredentialCreationOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { lockAccount } from '../accounts/accounts.ts';
import {
  type Database,
  isDatabaseUnavailable,
  namedStatement,
  type Queryable,
  query,
  queryColumn,
  type Transaction,
  violatedConstraint,
  whether,
} from '../database/database.ts';
import { ApiError, invalidRequest } from '../kernel/errors.ts';
import { passkeyHost, storeChallenge, takeChallenge } from './check-passkey.ts';
import { isSessionLive, type Session } from './sessions.ts';

const MAX_PASSKEYS = 20;

export interface PasskeyListing {
  id: string;
  name: string;
  created_at: Date;
  used_at: Date | null;
}

export const listPasskeys = query<[accountId: string], PasskeyListing>(
  'passkey_list',
  `select id, name, created_at, used_at from passkeys where account_id = $1
   order by created_at desc, id`,
);

/** @returns false if the account has no such passkey */
export const renamePasskey = whether<[id: string, accountId: string, name: string]>(
  'passkey_rename',
  'update passkeys set name = $3 where id = $1 and account_id = $2 returning id',
);

/** @returns false if the account has no such passkey */
export const removePasskey = whether<[id: string, accountId: string]>(
  'passkey_delete',
  'delete from passkeys where id = $1 and account_id = $2 returning id',
);

/** @returns the ids of all passkeys of the account */
export const removePasskeys = queryColumn<[accountId: string], string>(
  'passkey_delete_all',
  'delete from passkeys where account_id = $1 returning id',
);

/** EdDSA, ES256 and RS256. Without this list the library tests whether Node.js can do ML-DSA-44. */
const ALGORITHMS = [-8, -7, -257];

const passkeysOf = query<[accountId: string], { id: string; transports: string[] }>(
  'passkey_of_account',
  'select id, transports from passkeys where account_id = $1',
);

/**
 * @param deps.rpName the name that the browser's prompt shows
 * @throws ApiError `invalid_request` if PUBLIC_URL names an IP address, or at too many passkeys
 */
export async function passkeyOptions(
  { db, publicUrl, rpName }: { db: Queryable; publicUrl: string; rpName: string },
  { accountId, email }: { accountId: string; email: string },
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const rpID = requireHost(publicUrl);
  const own = await passkeysOf(db, accountId);
  if (own.length >= MAX_PASSKEYS) throw tooMany();
  const { generateRegistrationOptions } = await import('@simplewebauthn/server');
  const options = await generateRegistrationOptions({
    rpName,
    rpID,
    userName: email,
    userID: Buffer.from(accountId),
    attestationType: 'none',
    supportedAlgorithmIDs: ALGORITHMS,
    excludeCredentials: own,
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  });
  await storeChallenge(db, options.challenge, { accountId, sessionId: null });
  return options;
}

/** The longest credential id in base64url: 1023 bytes (WebAuthn, section 4). */
const MAX_ID = 1364;

/** The known transports of authenticators (WebAuthn, section 5.8.4). */
const TRANSPORTS = ['usb', 'nfc', 'ble', 'smart-card', 'hybrid', 'internal', 'cable'];

const INSERT = namedStatement(
  'passkey_insert',
  `insert into passkeys (id, account_id, public_key, counter, transports, name)
   values (:id, :accountId, :publicKey, :counter, :transports, :name)`,
);

/**
 * @param response what a browser created with {@link passkeyOptions}
 * @throws ApiError `invalid_request` if it does not match them, or is already known; `unauthorized`
 *   if the session has ended meanwhile
 */
export async function addPasskey(
  deps: { db: Database; publicUrl: string; onAdded(tx: Transaction): Promise<void> },
  { accountId, sessionId }: Pick<Session, 'accountId' | 'sessionId'>,
  { name, response }: { name: string; response: object },
): Promise<{ id: string }> {
  const { db, onAdded } = deps;
  const verified = await verifyNew(deps, accountId, response);
  const { id, publicKey, counter, transports: reported } = verified.credential;
  if (id.length > MAX_ID) throw refusal('The id of the passkey is too long.');
  const transports = TRANSPORTS.filter((known) =>
    [reported].flat().some((given) => given === known),
  );
  const values = { id, accountId, publicKey: Buffer.from(publicKey), counter, transports, name };
  try {
    await db.transaction(async (tx) => {
      await lockAccount(tx, accountId); // so that parallel calls don't exceed the limit
      if (!(await isSessionLive(tx, sessionId))) {
        throw new ApiError('unauthorized', 'This session has ended. Sign in to continue.');
      }
      if ((await passkeysOf(tx, accountId)).length >= MAX_PASSKEYS) throw tooMany();
      await tx.query(INSERT, INSERT.values(values));
      await onAdded(tx);
    });
  } catch (error) {
    if (violatedConstraint(error) !== 'passkeys_pkey') throw error;
    throw refusal('This passkey is known already.');
  }
  return { id };
}

async function verifyNew(
  { db, publicUrl }: { db: Database; publicUrl: string },
  accountId: string,
  response: object,
) {
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
  try {
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: response as RegistrationResponseJSON, // validated by the library
      expectedChallenge: (given) => takeChallenge(db, given, { accountId, sessionId: null }),
      expectedOrigin: new URL(publicUrl).origin,
      expectedRPID: requireHost(publicUrl),
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    });
    if (verified) return registrationInfo;
  } catch (cause) {
    if (isDatabaseUnavailable(cause)) throw cause;
    throw refusal('The passkey could not be checked. Add it again.', cause);
  }
  throw refusal('The passkey could not be checked. Add it again.');
}

function requireHost(publicUrl: string): string {
  const host = passkeyHost(publicUrl);
  if (host === undefined) throw refusal('Passkeys need an address with a host name.');
  return host;
}

function tooMany(): ApiError {
  return refusal(`An account has at most ${MAX_PASSKEYS} passkeys.`);
}

function refusal(message: string, cause?: unknown): ApiError {
  return invalidRequest(message, { field: 'response', reason: 'passkey' }, cause);
}
