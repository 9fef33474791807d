import { holdForgotten } from '../attempts/forgotten.ts';
import type { Database } from '../database/database.ts';
import { beginRecovery, endRecovery, readLineage } from '../database/lineage.ts';
import { lastGrantAt } from '../ledger/overview.ts';
import { type Action, recordAction } from './actions.ts';
import { type LastKnown, lastKnown } from './listings/last-known.ts';

/**
 * Ends the recovery of a database that was restored from a back-up or replaced by a replica. Before
 * that, unless nothing was lost, it holds each task that may have been submitted in the time that
 * the database has forgotten. It is never submitted again by itself.
 * @returns the held tasks, and for each kind of record from when on it must be replayed by hand
 */
export async function recoverRestored(
  db: Database,
  action: Action,
  { nothingLost }: { nothingLost: boolean },
): Promise<{ held_tasks: string[]; replay_after: LastKnown[] }> {
  const reason = action.reason ?? '';
  await db.transaction((tx) => beginRecovery(tx, reason)); // from now on, nothing is claimed
  const lineage = await readLineage(db);
  return db.transaction(async (tx) => {
    const credits = { what: 'credits granted or adjusted', last_known: await lastGrantAt(tx) };
    const replayAfter = [credits, ...(await lastKnown(tx))];
    const heldTasks = nothingLost ? [] : await holdForgotten(tx, reason);
    const details = { nothing_lost: nothingLost, held_tasks: heldTasks.length };
    await recordAction(tx, action, { target: 'database', details });
    await endRecovery(tx, lineage);
    return { held_tasks: heldTasks, replay_after: nothingLost ? [] : replayAfter };
  });
}
