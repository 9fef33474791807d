import {
  query,
  queryColumn,
  queryValue,
  type Transaction,
  whether,
} from '../../database/database.ts';
import { normalEmail } from '../email-address.ts';
import { accountForSignIn, type Entered, enter, lockAndReopen, type SignInDeps } from '../enter.ts';
import type { SignedInFrom } from '../sessions.ts';
import { IdentityRefused, type OutsideIdentity } from './issuer.ts';

export interface IdentityListing {
  /** The URL of GitHub or of an OpenID Connect issuer. */
  issuer: string;
  /** The issuer's id for the person. */
  subject: string;
  created_at: Date;
}

export const listIdentities = query<[accountId: string], IdentityListing>(
  'identity_list',
  `select issuer, subject, created_at from identities where account_id = $1
   order by created_at desc, issuer, subject`,
);

/**
 * Unlinks an account's identities. One that has the account's address, verified, is linked again
 * when the person next signs in with it.
 * @returns the issuers that were unlinked
 */
export const removeIdentities = queryColumn<[accountId: string], string>(
  'identity_delete_all',
  'delete from identities where account_id = $1 returning issuer',
);

const find = queryValue<[issuer: string, subject: string], string | undefined>(
  'identity_find',
  'select account_id from identities where issuer = $1 and subject = $2',
  undefined,
);

const link = whether<[issuer: string, subject: string, accountId: string]>(
  'identity_insert',
  `insert into identities (issuer, subject, account_id) values ($1, $2, $3)
   on conflict (issuer, subject) do nothing returning account_id`,
);

type ConfirmedIdentity = OutsideIdentity & { issuer: string };

/** The issuer has not verified the e-mail address, so it can't open an account. */
export class EmailNotVerified extends Error {
  override name = 'EmailNotVerified';
}

interface IdentityDeps extends SignInDeps {
  /** Called in the transaction that links an identity to an existing account. */
  onLinked(tx: Transaction, accountId: string): Promise<void>;
}

/**
 * A new identity is linked to the account of its e-mail address, created if there is none, but only
 * if the address is verified.
 * @throws EmailNotVerified; ApiError `account_disabled`
 */
export async function enterByIdentity(
  deps: IdentityDeps,
  identity: ConfirmedIdentity,
  from: SignedInFrom,
): Promise<Entered> {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  if (!/^[^\u0000-\u001f\ud800-\udfff]{1,255}$/.test(identity.subject)) {
    throw new IdentityRefused('the subject is malformed', {});
  }
  return deps.db.transaction(async (tx) => {
    const opened =
      (await byKnownIdentity(tx, identity, deps)) ?? (await byNewIdentity(tx, identity, deps));
    return enter(tx, opened, from);
  });
}

/** @returns undefined if no account has the identity, or an operator is unlinking it right now */
async function byKnownIdentity(
  tx: Transaction,
  { issuer, subject }: ConfirmedIdentity,
  { onReopened }: SignInDeps,
) {
  const accountId = await find(tx, issuer, subject);
  if (accountId === undefined) return undefined;
  // Lock the account before the identity, in the same order as an operator's removal.
  const reopened = await lockAndReopen(tx, accountId, onReopened);
  return (await find(tx, issuer, subject)) ? { accountId, reopened } : undefined;
}

async function byNewIdentity(
  tx: Transaction,
  { issuer, subject, email, isEmailVerified }: ConfirmedIdentity,
  { signupCredits, onReopened, onLinked }: IdentityDeps,
) {
  const address = normalEmail(email ?? '');
  if (address === undefined || !isEmailVerified) throw new EmailNotVerified('not verified');
  const { accountId, isNew } = await accountForSignIn(tx, address, signupCredits);
  const reopened = await lockAndReopen(tx, accountId, onReopened);
  if ((await link(tx, issuer, subject, accountId)) && !isNew) await onLinked(tx, accountId);
  return { accountId, reopened };
}
