import { statement, type Transaction } from '../database/database.ts';

const WAKE = [
  statement(
    'order_wake_pending',
    `update orders set due_at = clock_now(), revision = revision + 1
     where account_id = $1 and state = 'pending'`,
  ),
  statement(
    'subscription_wake_opening',
    `update subscriptions set due_at = clock_now(), revision = revision + 1
     where account_id = $1 and state = 'opening'`,
  ),
];

/**
 * Closes the payment pages of an account that is closed or disabled: what is not paid becomes due,
 * and a worker ends its Checkout.
 */
export async function closePaymentPages(tx: Transaction, accountId: string): Promise<void> {
  for (const wake of WAKE) await tx.query(wake, [accountId]);
}
