import {
  command,
  queryColumn,
  queryFirst,
  queryValue,
  statement,
  type Transaction,
  whether,
} from '../database/database.ts';
import { enableAccount, lockAccount } from './accounts.ts';
import { removeExport } from './exports.ts';

// An account that its owner deletes is first closed, which a sign-in undoes for seven days. Then
// its deletion begins: it is erased as soon as none of its tasks is live (decisions/0038).

const GRACE_DAYS = 7;

/** Closes an account that the caller has just disabled. @returns when it will be erased */
export const beginClosing = queryValue<[accountId: string], Date | undefined, Transaction>(
  'closing_begin',
  `insert into account_closings (account_id, closed_at, erase_at)
   select id, disabled_at, clock_now() + interval '${GRACE_DAYS} days' from accounts where id = $1
   returning erase_at`,
  undefined,
);

/** @returns false if its owner has not closed it, or a worker has ended the grace period */
export async function reopenAccount(tx: Transaction, accountId: string): Promise<boolean> {
  await lockAccount(tx, accountId);
  return (await withdrawClosing(tx, accountId)) && enableAccount(tx, accountId);
}

/** The closed accounts whose grace period is over. */
export const dueClosings = queryColumn<[], string>(
  'closing_due',
  `select account_id from account_closings
   where erase_at <= clock_now() order by erase_at limit 20`,
);

const beginDeletion = whether<[accountId: string], Transaction>(
  'closing_end',
  `with closing as (delete from account_closings where account_id = $1
     returning account_id, closed_at)
   insert into account_deletions (account_id, asked_at) select account_id, closed_at from closing
   returning account_id`,
);

/**
 * Ends the grace period and begins the deletion. A sign-in locks the account too, so only one of
 * them wins.
 * @returns false if the account is not in its grace period
 */
export async function endGrace(tx: Transaction, accountId: string): Promise<boolean> {
  await lockAccount(tx, accountId);
  return beginDeletion(tx, accountId);
}

export const endDeletion = command<[accountId: string]>(
  'deletion_done',
  'update account_deletions set erased_at = clock_now() where account_id = $1',
);

/**
 * Cancels the coming erasure: the account stays disabled, and signing in no longer reopens it.
 * @returns false if it is not in its grace period
 */
export const withdrawClosing = whether<[accountId: string], Transaction>(
  'closing_withdraw',
  'delete from account_closings where account_id = $1 returning account_id',
);

const stopDeletion = command<[accountId: string], Transaction>(
  'deletion_withdraw',
  'delete from account_deletions where account_id = $1 and erased_at is null',
);

/** Keeps a closed account's data when an operator enables it again. */
export async function withdrawDeletion(tx: Transaction, accountId: string): Promise<void> {
  await withdrawClosing(tx, accountId);
  await stopDeletion(tx, accountId);
}

// `no key update`, so that an order being settled meanwhile can still reference the account.
export const lockErasable = queryFirst<[accountId: string], Erasable, Transaction>(
  'erase_state',
  `select disabled_at < clock_now() - interval '1 minute' as is_idle, erased_at is not null as
     is_erased from accounts where id = $1 for no key update`,
);

export interface Erasable {
  /** Disabled long enough that no admitted create is still running; null: not disabled. */
  is_idle: boolean | null;
  is_erased: boolean;
}

const ERASE = [
  statement(
    'erase_account',
    `update accounts set email = 'erased:' || id, erased_at = clock_now() where id = $1`,
  ),
  statement(
    'erase_keys',
    `update api_keys set name = null, revoked_at = coalesce(revoked_at, clock_now())
     where account_id = $1`,
  ),
  statement(
    'erase_key_addresses',
    `update api_key_uses set last_used_address = null
     where api_key_id = any(array(select id from api_keys where account_id = $1))`,
  ),
];

export async function eraseOf(tx: Transaction, accountId: string): Promise<void> {
  for (const erase of ERASE) await tx.query(erase, [accountId]);
  await removeExport(tx, accountId);
}
