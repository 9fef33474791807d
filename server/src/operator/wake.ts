import type { Database } from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import { lockState } from '../tasks/task-listing.ts';
import { wakeTask } from '../tasks/transitions.ts';
import { type Action, performAction } from './actions.ts';

/**
 * Makes a task due now: its next step begins within a second, or right after the step under way.
 * @returns changed: false when it is due already and no step is under way
 * @throws UsageError when there is no such task, or it has ended
 */
export function wakeByOperator(db: Database, action: Action, taskId: string) {
  return performAction(db, action, { target: taskId }, async (tx) => {
    const state = await lockState(tx, taskId);
    if (state.waits === null) {
      throw new UsageError(`${taskId} is ${state.phase}: it has no next step`);
    }
    const changed = state.waits || state.is_leased === true;
    if (changed) await wakeTask(tx, taskId);
    return { task_id: taskId, phase: state.phase, changed };
  });
}
