import { type Database, statement } from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import { wakeTask } from '../tasks/transitions.ts';
import { type Action, performAction } from './actions.ts';
import { requireTask } from './task-listing.ts';

const STATE = statement(
  'operator_task_due',
  `select phase, due_at > clock_now() as waits, leased_until > clock_now() as is_leased
   from tasks where id = $1 for update`,
);

interface State {
  phase: string;
  waits: boolean | null;
  is_leased: boolean | null;
}

/**
 * Makes a task due now: its next step begins within a second, or right after the step under way.
 * @returns changed: false when it is due already and no step is under way
 * @throws UsageError when there is no such task, or it has ended
 */
export function wakeByOperator(db: Database, action: Action, taskId: string) {
  return performAction(db, action, { target: taskId }, async (tx) => {
    await requireTask(tx, taskId);
    const [state] = await tx.query<State>(STATE, [taskId]);
    if (!state || state.waits === null) {
      throw new UsageError(`${taskId} is ${state?.phase}: it has no next step`);
    }
    const changed = state.waits || state.is_leased === true;
    if (changed) await wakeTask(tx, taskId);
    return { task_id: taskId, phase: state.phase, changed };
  });
}
