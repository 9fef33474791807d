import { statement, type Transaction } from '../database/database.ts';
import { forgetLowBalance } from './low-balance/settings.ts';

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
 * Makes the unpaid orders and the running plan of a closed, disabled or reopened account due. A
 * worker then ends the Checkout and adapts the plan (`followAccount`).
 */
export async function wakePayments(tx: Transaction, accountId: string): Promise<void> {
  for (const wake of WAKE) await tx.query(wake, [accountId]);
}

export async function eraseOf(tx: Transaction, accountId: string): Promise<void> {
  await wakePayments(tx, accountId);
  await forgetLowBalance(tx, accountId);
}
