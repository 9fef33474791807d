import type { Database, Transaction } from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import { takeLease } from '../tasks/lease.ts';
import type { Task } from '../tasks/task.ts';
import { phaseOf, requireTask } from '../tasks/task-listing.ts';
import { type Move, move, moveNow, postpone, type StepResult } from '../tasks/transitions.ts';
import { decideVerdict } from './verdicts.ts';

/** The move of a task that is refused before its submit. @param message what the customer reads */
export function refusal(cause: object, message: string): Move {
  const error = {
    code: 'content_refused',
    message: `${message} The credits are refunded.`,
  } as const;
  return { to: 'failed', changes: { error }, cause: { moderation: cause } };
}

export const DENIED = 'The request breaks the rules of this service.';
const UNDECIDED = 'The request was not approved in time.';

/** The step of a task in review: it ends if no operator decides in time. */
export async function endReview(
  { db, reviewSeconds }: { db: Database; reviewSeconds: number },
  task: Task,
): Promise<StepResult> {
  const seconds = reviewSeconds - task.phase_seconds;
  if (seconds > 0) return postpone(db, task, { seconds }); // it was woken early
  return moveNow(db, task, refusal({ review: 'no decision in time' }, UNDECIDED));
}

/**
 * Applies an operator's decision: the task is submitted, or it fails and is refunded.
 * @throws UsageError when the task is not in review
 */
export async function decideReview(
  tx: Transaction,
  taskId: string,
  decision: { verdict: 'allow' | 'deny'; reason: string },
): Promise<{ task_id: string; phase: string; changed: true }> {
  const task = await takeLease(tx, taskId, ['review']);
  if (!task) {
    await requireTask(tx, taskId);
    throw new UsageError(`${taskId} is ${await phaseOf(tx, taskId)}, not in review`);
  }
  await decideVerdict(tx, taskId, decision.verdict);
  const cause = { operator: decision.reason };
  const next: Move =
    decision.verdict === 'allow'
      ? { to: 'submitting', cause: { moderation: cause } }
      : refusal(cause, DENIED);
  const { phase } = await move(tx, task, next);
  return { task_id: taskId, phase, changed: true };
}
