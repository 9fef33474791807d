import {
  beginCancel,
  type CancelBegun,
  type CancelObstacle,
  NotCancellable,
  providerResponse,
} from '../attempts/cancel.ts';
import type { Database } from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import { type Action, performAction } from './actions.ts';

/** `accepted`: the provider cancels the job. */
type Cancelled = Omit<CancelBegun, 'cancel'> & { cancel: CancelBegun['cancel'] | 'accepted' };

/** How long the command waits for what the provider says. */
const WAIT_SECONDS = 15;

/**
 * Cancels a task, or asks its provider to cancel its job ({@link beginCancel}), and records that.
 * @returns changed: false when it was cancelled, or that was requested, before
 * @throws UsageError, with the reason, when it can't be cancelled or the provider refuses
 */
export async function cancelTask(
  db: Database,
  action: Action,
  taskId: string,
  waitSeconds = WAIT_SECONDS,
): Promise<Cancelled> {
  const cause = { cancelled_by: 'operator', operator: action.reason } as const;
  const options = { cause, alsoHeldOutcome: true };
  const begun = await performAction(db, action, { target: taskId }, (tx) =>
    beginCancel(tx, taskId, options),
  ).catch((error: unknown) => {
    throw error instanceof NotCancellable ? refused(taskId, error) : error;
  });
  if (begun.cancel === 'done') return begun;
  const deadline = performance.now() + waitSeconds * 1000;
  const response = await providerResponse(db, taskId, { deadline });
  if (response?.state === 'refused') throw new UsageError(`${taskId} goes on: ${response.cause}`);
  return response ? { ...begun, cancel: 'accepted' } : begun;
}

const REFUSALS: Record<CancelObstacle, (phase: string) => string> = {
  held: (phase) => `is ${phase}: its provider may have a job of it. Decide the task instead`,
  submitting: () => 'is being submitted at this moment: try again in a minute',
  archiving: (phase) => `is ${phase}: its video is finished and is being copied`,
  ended: (phase) => `is ${phase}: there is nothing to cancel`,
};

function refused(taskId: string, { obstacle, phase }: NotCancellable): UsageError {
  return new UsageError(`${taskId} ${REFUSALS[obstacle](phase)}`);
}
