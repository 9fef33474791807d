import { mismatchedOrders } from '../billing/credit-order.ts';
import type { Queryable } from '../database/database.ts';
import { recoverySeconds } from '../database/lineage.ts';
import { closedSubjects } from '../providers/circuit-breaker/closures.ts';
import { deletingObjects } from '../storage/removal.ts';
import { webhookFigures } from '../webhooks/claim.ts';
import { readTaskFigures } from './listings/task-figures.ts';

/** Figures about the whole service, for metrics. Ages are in seconds. */
export type Figures = Awaited<ReturnType<typeof readFigures>>;

/** Reads the figures as they are now. This is cheap: see {@link readTaskFigures}. */
export async function readFigures(db: Queryable) {
  const [tasks, closed, recovery, deleting, mismatched, webhooks] = await Promise.all([
    readTaskFigures(db),
    closedSubjects(db),
    recoverySeconds(db),
    deletingObjects(db),
    mismatchedOrders(db),
    webhookFigures(db),
  ]);
  const recoveries =
    recovery === undefined ? [] : [{ subject: 'tasks', cause: 'recovery', seconds: recovery }];
  return { ...tasks, closed: [...closed, ...recoveries], deleting, mismatched, webhooks };
}
