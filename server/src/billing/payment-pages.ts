import { statement, type Transaction } from '../database/database.ts';
import { DELETE_LOW_BALANCE } from './low-balance/settings.ts';

const WAKE = [
  statement(
    'order_wake_pending',
    `update orders set due_at = clock_now(), revision = revision + 1
     where account_id = $1 and state = 'pending'`,
  ),
  statement(
    'subscription_wake_live',
    `update subscriptions set due_at = clock_now(), revision = revision + 1
     where account_id = $1 and state not in ('canceled', 'incomplete_expired', 'expired')`,
  ),
];

/**
 * Closes the payment pages of a closed or disabled account, by making its unpaid orders and its
 * running plan due. A worker then ends the Checkout and adapts the plan to the account
 * (`followAccount`), also once it is reopened.
 */
export async function closePaymentPages(tx: Transaction, accountId: string): Promise<void> {
  for (const wake of WAKE) await tx.query(wake, [accountId]);
}

/** Closes an account's payment pages, and deletes its low-balance settings. */
export async function eraseOf(tx: Transaction, accountId: string): Promise<void> {
  await closePaymentPages(tx, accountId);
  await tx.query(DELETE_LOW_BALANCE, [accountId]);
}
