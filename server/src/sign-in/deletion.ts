import { lowerEmailOf } from '../accounts/account-sql.ts';
import { disableAccount } from '../accounts/accounts.ts';
import { beginClosing } from '../accounts/closing.ts';
import { removeExport } from '../accounts/exports.ts';
import { forgetIdleWindows } from '../accounts/rate-window.ts';
import { type Database, statement, type Transaction } from '../database/database.ts';
import { endSharesOf } from '../shares/shares.ts';
import { endSessions } from './sessions.ts';

const FORGET = [
  statement('forget_sessions', 'delete from sessions where account_id = $1'),
  statement('forget_passkeys', 'delete from passkeys where account_id = $1'),
  statement('forget_challenges', 'delete from passkey_challenges where account_id = $1'),
  statement('forget_identities', 'delete from identities where account_id = $1'),
  statement('forget_code', `delete from sign_in_codes where email = ${lowerEmailOf('$1')}`),
];

/** Erases an account's sign-in methods. Call it before the e-mail address is erased. */
export async function eraseOf(tx: Transaction, accountId: string): Promise<void> {
  for (const forget of FORGET) await tx.query(forget, [accountId]);
}

/**
 * Closes an account for its owner, and ends its shares for good. A sign-in within the grace period
 * reopens it; after that its personal data is erased.
 * @returns when the grace period ends; undefined if the account was disabled before
 */
export async function closeAccount(tx: Transaction, accountId: string): Promise<Date | undefined> {
  if (!(await disableAccount(tx, accountId))) return undefined;
  await endSessions(tx, accountId);
  await endSharesOf(tx, accountId);
  await removeExport(tx, accountId);
  return beginClosing(tx, accountId);
}

const TABLES = ['sessions', 'sign_in_codes', 'proof_codes', 'passkey_challenges', 'sign_in_starts'];

const EXPIRED = TABLES.map((table) =>
  statement(
    `expired_${table}`,
    `delete from ${table} where ctid = any(array(
       select ctid from ${table} where expires_at < clock_now() limit 1000))
       and expires_at < clock_now()`,
  ),
);

const GRANTS = statement(
  'expired_signup_grants',
  `delete from signup_grants where granted_at < clock_now() - interval '1 year'`,
);

/** Deletes what has expired and, after a year, the record of who got promotional credits. */
export async function deleteExpired(db: Database): Promise<void> {
  for (const expired of EXPIRED) await db.query(expired);
  await db.query(GRANTS);
  await forgetIdleWindows(db);
}
