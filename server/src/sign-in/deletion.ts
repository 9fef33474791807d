import { disableAccount } from '../accounts/accounts.ts';
import { revokeAllKeys } from '../accounts/api-keys.ts';
import { type Queryable, statement, type Transaction } from '../database/database.ts';

const FORGET = [
  statement('forget_sessions', 'delete from sessions where account_id = $1'),
  statement('forget_passkeys', 'delete from passkeys where account_id = $1'),
  statement('forget_challenges', 'delete from passkey_challenges where account_id = $1'),
  statement('forget_identities', 'delete from identities where account_id = $1'),
  statement(
    'forget_code',
    `delete from sign_in_codes
     where email = (select lower(email) from accounts where id = $1)`,
  ),
];

/** Deletes all ways to sign in to an account, and where it is signed in. */
export async function forgetSignIn(tx: Transaction, accountId: string): Promise<void> {
  for (const forget of FORGET) await tx.query(forget, [accountId]);
}

const ASK = statement(
  'deletion_ask',
  `insert into account_deletions (account_id) values ($1)
   on conflict (account_id) do update set asked_at = clock_now()
     where account_deletions.erased_at is null`,
);

/**
 * Closes an account for its owner: it is disabled, its API keys are revoked, nobody can sign in.
 * Its personal data are erased later ({@link dueDeletions}).
 */
export async function closeAccount(
  tx: Transaction,
  accountId: string,
): Promise<{ changed: boolean }> {
  const changed = await disableAccount(tx, accountId);
  await revokeAllKeys(tx, accountId);
  await forgetSignIn(tx, accountId);
  await tx.query(ASK, [accountId]);
  return { changed };
}

// An erasure needs an account that is disabled for a minute and has no live task.
const DUE = statement(
  'deletion_due',
  `select d.account_id from account_deletions d join accounts a on a.id = d.account_id
   where d.erased_at is null and a.disabled_at < clock_now() - interval '61 seconds'
     and not exists (
       select from tasks t where t.account_id = d.account_id and t.due_at is not null)
   order by d.asked_at limit 20`,
);

/** The closed accounts whose personal data can be erased now. */
export async function dueDeletions(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ account_id: string }>(DUE);
  return rows.map((row) => row.account_id);
}

const DONE = statement(
  'deletion_done',
  'update account_deletions set erased_at = clock_now() where account_id = $1',
);

/** Notes that the personal data of a closed account are erased. */
export async function endDeletion(db: Queryable, accountId: string): Promise<void> {
  await db.query(DONE, [accountId]);
}

const WITHDRAW = statement(
  'deletion_withdraw',
  'delete from account_deletions where account_id = $1 and erased_at is null',
);

/** Keeps the data of a closed account that an operator enables again. */
export async function withdrawDeletion(tx: Transaction, accountId: string): Promise<void> {
  await tx.query(WITHDRAW, [accountId]);
}
