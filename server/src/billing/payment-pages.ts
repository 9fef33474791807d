import { statement, type Transaction } from '../database/database.ts';
import { FORGET_LOW_BALANCE } from './low-balance/settings.ts';

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
 * Closes the payment pages of an account that is closed or disabled: what is not paid, and a plan
 * that may be paid again, becomes due. A worker ends its Checkout, and lets the plan follow the
 * account (`followAccount`), also one that is reopened.
 */
export async function closePaymentPages(tx: Transaction, accountId: string): Promise<void> {
  for (const wake of WAKE) await tx.query(wake, [accountId]);
}

/** Closes the payment pages of an account, and forgets what it wanted when its credits run low. */
export async function eraseOf(tx: Transaction, accountId: string): Promise<void> {
  await closePaymentPages(tx, accountId);
  await tx.query(FORGET_LOW_BALANCE, [accountId]);
}
