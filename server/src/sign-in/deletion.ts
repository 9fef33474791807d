import { lowerEmailOf } from '../accounts/account-sql.ts';
import { disableAccount } from '../accounts/accounts.ts';
import { beginClosing } from '../accounts/closing.ts';
import { statement, type Transaction } from '../database/database.ts';
import { endSessions } from './sessions.ts';

const FORGET = [
  statement('forget_sessions', 'delete from sessions where account_id = $1'),
  statement('forget_passkeys', 'delete from passkeys where account_id = $1'),
  statement('forget_challenges', 'delete from passkey_challenges where account_id = $1'),
  statement('forget_identities', 'delete from identities where account_id = $1'),
  statement(
    'forget_code',
    `delete from sign_in_codes
     where email = ${lowerEmailOf('$1')}`,
  ),
];

/** Deletes all ways to sign in to an account that has its e-mail address, and its sessions. */
export async function eraseOf(tx: Transaction, accountId: string): Promise<void> {
  for (const forget of FORGET) await tx.query(forget, [accountId]);
}

/**
 * Closes an account for its owner: it is disabled and its sessions end. Whoever signs in to it in
 * the next days reopens it; after that its personal data are erased.
 * @returns when; undefined if the account is disabled already, which its owner can't change
 */
export async function closeAccount(tx: Transaction, accountId: string): Promise<Date | undefined> {
  if (!(await disableAccount(tx, accountId))) return undefined;
  await endSessions(tx, accountId);
  return beginClosing(tx, accountId);
}
