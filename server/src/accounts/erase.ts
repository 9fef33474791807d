import { queryFirst, statement, type Transaction } from '../database/database.ts';

// The account's key is not locked: an order that is settled meanwhile can refer to it.
/** Locks an account; undefined if there is none. */
export const lockErasable = queryFirst<[accountId: string], Erasable, Transaction>(
  'erase_state',
  `select disabled_at < clock_now() - interval '1 minute' as is_idle, erased_at is not null as
     is_erased from accounts where id = $1 for no key update`,
);

/** Whether an account can be erased. */
export interface Erasable {
  /** Disabled long enough that no admitted create is under way any more; null: not disabled. */
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

/** Removes the e-mail address of an account, and the names and last addresses of its keys. */
export async function eraseOf(tx: Transaction, accountId: string): Promise<void> {
  for (const erase of ERASE) await tx.query(erase, [accountId]);
}
