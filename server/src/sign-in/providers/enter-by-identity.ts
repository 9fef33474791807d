import { type Database, statement, type Transaction } from '../../database/database.ts';
import { normalEmail } from '../email-address.ts';
import { enter, enterByEmail } from '../enter.ts';
import type { SignedInFrom } from '../sessions.ts';
import { IdentityRefused, type OutsideIdentity } from './identity-provider.ts';

const FIND = statement(
  'identity_find',
  'select account_id from identities where issuer = $1 and subject = $2',
);

const INSERT = statement(
  'identity_insert',
  `insert into identities (issuer, subject, account_id) values ($1, $2, $3)
   on conflict (issuer, subject) do nothing`,
);

/** The provider does not vouch for the e-mail address, so it opens no account. */
export class EmailNotVerified extends Error {
  override name = 'EmailNotVerified';
}

/**
 * Signs in a person whom a provider has confirmed. An identity that is new here joins the account
 * of its e-mail address, which is made if there is none, but only if the address is verified.
 * @returns the token for the cookie
 * @throws EmailNotVerified; ApiError `account_disabled`
 */
export async function enterByIdentity(
  { db, signupCredits }: { db: Database; signupCredits: number },
  identity: OutsideIdentity & { issuer: string },
  from: SignedInFrom,
): Promise<string> {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  if (!/^[^\u0000-\u001f\ud800-\udfff]{1,255}$/.test(identity.subject)) {
    throw new IdentityRefused('the subject is malformed', {});
  }
  return db.transaction(async (tx) => {
    const accountId = await accountOf(tx, identity, signupCredits);
    return enter(tx, accountId, from);
  });
}

async function accountOf(
  tx: Transaction,
  { issuer, subject, email, isEmailVerified }: OutsideIdentity & { issuer: string },
  signupCredits: number,
): Promise<string> {
  const [known] = await tx.query<{ account_id: string }>(FIND, [issuer, subject]);
  if (known) return known.account_id;
  const address = normalEmail(email ?? '');
  if (address === undefined || !isEmailVerified) throw new EmailNotVerified('not verified');
  const accountId = await enterByEmail(tx, address, signupCredits);
  await tx.query(INSERT, [issuer, subject, accountId]);
  return accountId;
}
