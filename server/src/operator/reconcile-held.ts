import { createHash } from 'node:crypto';
import { findAccount } from '../accounts/accounts.ts';
import type { Database, Transaction } from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import type { Task } from '../tasks/task.ts';
import { type HeldTask, heldTasks } from '../tasks/task-listing.ts';
import { type Action, recordAction } from './actions.ts';
import { type OperatorDecision, reconcile } from './reconcile.ts';

/** Selects the held tasks to decide together. An omitted member does not filter. */
export interface HeldFilter {
  provider?: string | undefined;
  account?: string | undefined;
  hours?: number | undefined;
  cause?: Task['held_cause'] | undefined;
}

/**
 * The held tasks that match a filter, longest held first. `confirm` identifies exactly these tasks
 * and their causes; a decision must repeat it.
 * @throws UsageError when there is no such account
 */
export async function selectHeld(db: Database, filter: HeldFilter) {
  const { provider = null, account, hours = 0, cause = null } = filter;
  const accountId = account === undefined ? null : await findAccount(db, account);
  const tasks = await heldTasks(db, { provider, accountId, hours, cause });
  return { tasks, confirm: confirmationOf(tasks) };
}

/** The number of tasks and a digest, such as `16-5f0c2a9be1d4`. */
function confirmationOf(tasks: HeldTask[]): string {
  const shown = tasks.map((task) => `${task.id} ${task.held_cause}`).sort();
  const digest = createHash('sha256').update(shown.join('\n')).digest('hex').slice(0, 12);
  return `${tasks.length}-${digest}`;
}

/**
 * Applies one decision to all held tasks of a filter, each in its own transaction with its own
 * record. A task that the decision does not fit, or that has moved since, is named in `left`.
 * @param decided.confirm from the list that the operator saw
 * @throws UsageError when the filter now matches other tasks; then nothing is decided
 */
export async function reconcileHeld(
  db: Database,
  action: Action,
  decided: { filter: HeldFilter; kind: 'not_accepted' | 'failed'; confirm: string },
) {
  const { tasks, confirm } = await selectHeld(db, decided.filter);
  if (confirm !== decided.confirm) {
    throw new UsageError(
      `these are not the held tasks that you saw, the filter finds ${tasks.length} now: nothing ` +
        'was decided. Look at the list again',
    );
  }
  const left: string[] = [];
  for (const task of tasks) {
    await decideHeld(db, action, task, { kind: decided.kind }).catch((error: unknown) => {
      if (!(error instanceof UsageError)) throw error;
      left.push(error.message);
    });
  }
  return { ok: left.length === 0, decided: tasks.length - left.length, left };
}

/** @throws UsageError also when the task is no longer held for the same cause */
function decideHeld(db: Database, action: Action, shown: HeldTask, decision: OperatorDecision) {
  const record = async (tx: Transaction, { id, phase, held_cause: cause }: Task) => {
    if (phase !== 'held' || cause !== shown.held_cause) {
      throw new UsageError(`${id} was moved since the list was shown`);
    }
    await recordAction(tx, action, { target: id, details: decision });
  };
  return reconcile(db, shown.id, decision, action.reason ?? '', record);
}
