import {
  dueClosings,
  type Erasable,
  endDeletion,
  endGrace,
  eraseOf as eraseAccountRows,
  lockErasable,
} from '../accounts/closing.ts';
import { eraseOf as eraseTasks } from '../attempts/erase.ts';
import { eraseOf as eraseBilling, wakePayments } from '../billing/payment-pages.ts';
import { eraseOf as erasePresets } from '../catalog/presets.ts';
import type { Database, Transaction } from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import { eraseOf as eraseMails } from '../mail/outbox.ts';
import { eraseOf as eraseVerdicts } from '../moderation/verdicts.ts';
import { eraseOf as eraseReports } from '../reports/reports.ts';
import { eraseOf as eraseShares } from '../shares/shares.ts';
import { eraseOf as eraseSignIn } from '../sign-in/deletion.ts';
import { eraseOf as eraseUploads } from '../storage/removal.ts';
import { liveTasks } from '../tasks/task-listing.ts';
import { eraseOf as eraseUploadFacts } from '../uploads/uploads.ts';
import { eraseOf as eraseWebhooks } from '../webhooks/endpoints.ts';
import { type Action, performAction } from './actions.ts';
import { dueDeletions } from './listings/due-deletions.ts';

/** What each room erases: reports and sign-in before the account, whose address they need. */
const ROOMS = [
  eraseReports,
  eraseBilling,
  eraseSignIn,
  eraseWebhooks,
  eraseMails,
  eraseAccountRows,
  eraseUploads,
  eraseUploadFacts,
  eraseVerdicts,
  eraseShares,
  erasePresets,
  eraseTasks,
];

/**
 * Removes the personal data of a disabled account for good. Its credits, transfers and the ids,
 * prices and times of its tasks stay. An interrupted run is continued by the next one.
 * @throws UsageError when the account has not been disabled for a minute, or has live tasks
 */
export async function eraseAccount(db: Database, action: Action, accountId: string) {
  const before = await db.transaction(async (tx) => {
    const state = await requireIdle(tx, accountId);
    await endGrace(tx, accountId); // from now on its owner can't reopen it
    return state;
  });
  let tasks = 0;
  let erased: number;
  do {
    erased = await db.transaction((tx) => eraseTasks(tx, accountId)); // some at a time
    tasks += erased;
  } while (erased > 0);
  return performAction(db, action, { target: accountId }, async (tx) => {
    const { is_erased: wasErased } = await requireIdle(tx, accountId);
    if (!wasErased) for (const eraseOf of ROOMS) await eraseOf(tx, accountId);
    await endDeletion(tx, accountId);
    // Not if another run finished first: that one recorded the erasure.
    const changed = !wasErased || (before.is_erased && tasks > 0);
    return { account_id: accountId, erased_tasks: tasks, changed };
  });
}

async function requireIdle(tx: Transaction, accountId: string): Promise<Erasable> {
  const state = await lockErasable(tx, accountId);
  if (!state?.is_idle) {
    const why =
      state?.is_idle === false
        ? 'was disabled less than a minute ago: try again in a minute'
        : 'is not disabled: disable it, and erase it a minute later';
    throw new UsageError(`${accountId} ${why}`);
  }
  const live = await liveTasks(tx, accountId);
  if (live > 0) {
    throw new UsageError(
      `${accountId} has ${live} live tasks: wait until they have ended, cancel or decide them`,
    );
  }
  return state;
}

const ACTION = {
  command: 'accounts erase',
  actor: 'worker',
  reason: 'its owner has deleted the account',
};

/** Erases accounts whose grace period is over. Several workers may run it at once. */
export async function eraseClosedAccounts({ db, log }: { db: Database; log: Log }): Promise<void> {
  for (const accountId of await dueClosings(db)) {
    await db.transaction(async (tx) => {
      if (await endGrace(tx, accountId)) await wakePayments(tx, accountId);
    });
  }
  for (const accountId of await dueDeletions(db)) {
    try {
      await eraseAccount(db, ACTION, accountId);
      log.info({ account: accountId }, 'a deleted account was erased');
    } catch (error) {
      if (!(error instanceof UsageError)) throw error; // enabled again, or a late task
    }
  }
}
