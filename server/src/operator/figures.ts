import { type MismatchedOrders, mismatchedOrders } from '../billing/credit-order.ts';
import type { Queryable } from '../database/database.ts';
import { recoverySeconds } from '../database/lineage.ts';
import { type ClosedSubject, closedSubjects } from '../providers/host/closures.ts';
import { type DeletingObjects, deletingObjects } from '../storage/removal.ts';
import { readTaskFigures, type TaskFigures } from '../tasks/listing/task-figures.ts';
import { type WebhookFigures, webhookFigures } from '../webhooks/figures.ts';

/** Figures about the whole service, for metrics. Ages are in seconds. */
export interface Figures extends TaskFigures {
  closed: ClosedSubject[];
  deleting: DeletingObjects[];
  mismatched: MismatchedOrders[];
  webhooks: WebhookFigures[];
}

/** Reads the figures as they are now. This is cheap: see {@link readTaskFigures}. */
export async function readFigures(db: Queryable): Promise<Figures> {
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
