import { dueClosings, endGrace } from '../../accounts/closing.ts';
import { closePaymentPages } from '../../billing/payment-pages.ts';
import type { Database } from '../../database/database.ts';
import { UsageError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { dueDeletions } from '../listings/due-deletions.ts';
import { eraseAccount } from './erase.ts';

const ACTION = {
  command: 'accounts erase',
  actor: 'worker',
  reason: 'its owner has deleted the account',
};

/**
 * Erases the accounts that their owners have closed, once the grace period is over and nothing of
 * them is under way. Several workers may do the same, and an interrupted run is continued by the
 * next one.
 */
export async function eraseClosedAccounts({ db, log }: { db: Database; log: Log }): Promise<void> {
  for (const accountId of await dueClosings(db)) {
    await db.transaction(async (tx) => {
      if (await endGrace(tx, accountId)) await closePaymentPages(tx, accountId);
    });
  }
  for (const accountId of await dueDeletions(db)) {
    try {
      await eraseAccount(db, ACTION, accountId);
      log.info({ account: accountId }, 'a deleted account was erased');
    } catch (error) {
      if (!(error instanceof UsageError)) throw error; // enabled again, or a task that was late
    }
  }
}
