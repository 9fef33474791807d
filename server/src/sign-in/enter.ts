import { hash } from 'node:crypto';
import { accountOfEmail } from '../accounts/accounts.ts';
import { statement, type Transaction } from '../database/database.ts';
import { ApiError } from '../kernel/errors.ts';
import { transfer } from '../ledger/transfer.ts';
import { mailboxOf, untagged } from './email-address.ts';
import { beginSession, type SignedInFrom } from './sessions.ts';

/**
 * The account of a person whose e-mail address is proved, which is made at the first sign-in.
 * @param signupCredits promotional credits of a new account
 * @throws ApiError `account_disabled`
 */
export async function enterByEmail(
  tx: Transaction,
  email: string,
  signupCredits: number,
): Promise<string> {
  const { accountId, isNew, isDisabled } = await accountOfEmail(tx, email);
  if (isDisabled) throw accountDisabled();
  if (isNew && signupCredits > 0 && (await isFirstGrant(tx, email))) {
    await giveSignupCredits(tx, accountId, signupCredits);
  }
  return accountId;
}

// Rows of before migration 0069 are by the untagged address.
const NOTE = statement(
  'signup_grant_note',
  `insert into signup_grants (address_hash)
   select $1 where not exists (select from signup_grants where address_hash = $2)
   on conflict do nothing returning address_hash`,
);

/** Whether a mailbox has had no promotional credits yet, also for an account deleted since. */
async function isFirstGrant(tx: Transaction, email: string): Promise<boolean> {
  const hashes = [mailboxOf(email), untagged(email)].map((one) => hash('sha256', one, 'buffer'));
  return (await tx.query(NOTE, hashes)).length > 0;
}

async function giveSignupCredits(tx: Transaction, accountId: string, credits: number) {
  await transfer(tx, {
    ...{ accountId, credits, kind: 'promotional', reason: 'grant' },
    ...{ source: 'granted', target: 'available', reference: `grant:signup:${accountId}` },
  });
}

// Locked: an account that is disabled at this moment gets no session.
const ENABLED = statement(
  'sign_in_enabled',
  'select id from accounts where id = $1 and disabled_at is null for share',
);

/**
 * Begins a session of an account.
 * @returns the token for the cookie
 * @throws ApiError `account_disabled`
 */
export async function enter(
  tx: Transaction,
  accountId: string,
  from: SignedInFrom,
): Promise<string> {
  if ((await tx.query(ENABLED, [accountId])).length === 0) throw accountDisabled();
  return beginSession(tx, accountId, from);
}

function accountDisabled(): ApiError {
  const message = 'This account is disabled. If you did not delete it, ask the operator.';
  return new ApiError('account_disabled', message);
}
