// The room sign-in/: mailed codes, passkeys and outside identities lead to a session; a fresh proof
// allows sensitive acts in it (decisions/0027, decisions/0038).

import { hash } from 'node:crypto';
import { accountOfEmail, keepEnabled } from '../accounts/accounts.ts';
import { reopenAccount } from '../accounts/closing.ts';
import { type Database, type Transaction, whether } from '../database/database.ts';
import { ApiError } from '../kernel/errors.ts';
import { transfer } from '../ledger/transfer.ts';
import { mailboxOf } from './email-address.ts';
import { beginSession, type SignedInFrom } from './sessions.ts';

/** Called in the transaction that reopens an account which its owner had closed. */
export type OnReopened = (tx: Transaction, accountId: string) => Promise<void>;

export interface SignInDeps {
  db: Database;
  /** Promotional credits for a new account. */
  signupCredits: number;
  onReopened: OnReopened;
}

export interface Entered {
  /** Of the new session, for the cookie. */
  token: string;
  accountId: string;
  reopened: boolean;
}

const recordGrant = whether<[addressHash: Buffer], Transaction>(
  'signup_grant_note',
  `insert into signup_grants (address_hash) values ($1)
   on conflict do nothing returning address_hash`,
);

/**
 * The account of a verified e-mail address. Creates it at the first sign-in, with the sign-up
 * credits of its mailbox.
 */
export async function accountForSignIn(
  tx: Transaction,
  email: string,
  signupCredits: number,
): Promise<{ accountId: string; isNew: boolean }> {
  const { accountId, isNew } = await accountOfEmail(tx, email);
  const mailbox = hash('sha256', mailboxOf(email), 'buffer');
  // Once per mailbox, even if its account was deleted since.
  if (isNew && signupCredits > 0 && (await recordGrant(tx, mailbox))) {
    await transfer(tx, {
      accountId,
      credits: signupCredits,
      kind: 'promotional',
      reason: 'grant',
      source: 'granted',
      target: 'available',
      reference: `grant:signup:${accountId}`,
    });
  }
  return { accountId, isNew };
}

/**
 * Locks the account, and reopens it if its owner had closed it. Call it before locking what the
 * sign-in uses up, such as a code: an erase locks in the same order.
 * @returns whether it was closed, and is reopened now
 * @throws ApiError `account_disabled`
 */
export async function lockAndReopen(
  tx: Transaction,
  accountId: string,
  onReopened: OnReopened,
): Promise<boolean> {
  // Waits for a disable under way, so that a disabled account gets no session.
  if (await keepEnabled(tx, accountId)) return false;
  if (!(await reopenAccount(tx, accountId))) throw accountDisabled();
  await onReopened(tx, accountId);
  return true;
}

/** Begins a session for an account locked by {@link lockAndReopen}. */
export async function enter(
  tx: Transaction,
  opened: Omit<Entered, 'token'>,
  from: SignedInFrom,
): Promise<Entered> {
  return { ...opened, token: await beginSession(tx, opened.accountId, from) };
}

export function accountDisabled(): ApiError {
  const message =
    "This account can't be used: it was deleted, or the operator disabled it. If you did not " +
    'delete it, ask the operator.';
  return new ApiError('account_disabled', message);
}
