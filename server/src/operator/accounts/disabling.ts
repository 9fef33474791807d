import { disableAccount, enableAccount, findAccount } from '../../accounts/accounts.ts';
import { withdrawClosing, withdrawDeletion } from '../../accounts/closing.ts';
import { closePaymentPages } from '../../billing/payment-pages.ts';
import type { Database } from '../../database/database.ts';
import { endSessions } from '../../sign-in/sessions.ts';
import { type Action, performAction } from '../actions.ts';

/**
 * Disables an account: its API keys get 401, and its sessions end for good. Its tasks continue, and
 * a worker closes the payment pages that it has open. One that its owner has closed stays disabled,
 * with its data.
 * @param account an id or an e-mail address
 * @throws UsageError if there is no such account
 */
export async function disableByOperator(db: Database, action: Action, account: string) {
  const target = await findAccount(db, account);
  return performAction(db, action, { target }, async (tx) => {
    const isDisabled = await disableAccount(tx, target);
    const changed = (await withdrawClosing(tx, target)) || isDisabled;
    await endSessions(tx, target);
    await closePaymentPages(tx, target);
    return { account_id: target, disabled: true, changed };
  });
}

/**
 * Enables a disabled account, and keeps the data of one that its owner has closed.
 * @param account an id or an e-mail address
 * @throws UsageError if there is no such account, or it was erased
 */
export async function enableByOperator(db: Database, action: Action, account: string) {
  const target = await findAccount(db, account);
  return performAction(db, action, { target }, async (tx) => {
    const changed = await enableAccount(tx, target);
    await withdrawDeletion(tx, target);
    await closePaymentPages(tx, target); // its plan continues before the period is over
    return { account_id: target, disabled: false, changed };
  });
}
