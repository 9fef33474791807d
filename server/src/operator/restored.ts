import { type Database, statement } from '../database/database.ts';
import { beginRecovery, endRecovery, readLineage } from '../database/lineage.ts';
import { lastGrantAt } from '../ledger/overview.ts';
import { holdForgotten } from '../tasks/attempts/forgotten.ts';
import { type Action, recordAction } from './actions.ts';

/** A kind of record that must be replayed by hand, and the time of the last one that is known. */
interface LastKnown {
  what: string;
  last_known: Date | null;
}

const LAST_KNOWN = statement(
  'restored_last_known',
  `select 'accounts created' as what, max(created_at) as last_known from accounts
   union all select 'accounts disabled', max(disabled_at) from accounts
   union all select 'API keys created', max(created_at) from api_keys
   union all select 'API keys revoked', max(revoked_at) from api_keys
   union all select 'operator commands', max(at) from operator_actions
   union all select 'tasks created', max(created_at) from tasks`,
);

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
    const replayAfter = [credits, ...(await tx.query<LastKnown>(LAST_KNOWN))];
    const heldTasks = nothingLost ? [] : await holdForgotten(tx, reason);
    const details = { nothing_lost: nothingLost, held_tasks: heldTasks.length };
    await recordAction(tx, action, { target: 'database', details });
    await endRecovery(tx, lineage);
    return { held_tasks: heldTasks, replay_after: nothingLost ? [] : replayAfter };
  });
}
