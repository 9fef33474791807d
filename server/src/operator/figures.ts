import { type MismatchedOrders, mismatchedOrders } from '../billing/credit-order.ts';
import type { Queryable } from '../database/database.ts';
import { recoverySeconds } from '../database/lineage.ts';
import { type ClosedSubject, closedSubjects } from '../providers/host/closures.ts';
import { type DeletingObjects, deletingObjects } from '../storage/removal.ts';
import { readTaskFigures, type TaskFigures } from '../tasks/listing/task-figures.ts';

/** Figures about the whole service, for metrics. Ages are in seconds. */
export interface Figures extends TaskFigures {
  closed: ClosedSubject[];
  deleting: DeletingObjects[];
  mismatched: MismatchedOrders[];
}

/** Reads the figures as they are now. This is cheap: see {@link readTaskFigures}. */
export async function readFigures(db: Queryable): Promise<Figures> {
  const [tasks, closed, recovery, deleting, mismatched] = await Promise.all([
    readTaskFigures(db),
    closedSubjects(db),
    recoverySeconds(db),
    deletingObjects(db),
    mismatchedOrders(db),
  ]);
  const recoveries =
    recovery === undefined ? [] : [{ subject: 'tasks', cause: 'recovery', seconds: recovery }];
  return { ...tasks, closed: [...closed, ...recoveries], deleting, mismatched };
}
