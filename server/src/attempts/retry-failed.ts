import { statement, type Transaction } from '../database/database.ts';
import { jsonText } from '../database/json-text.ts';
import { NOTHING_LOST_SINCE } from '../database/lineage.ts';
import type { NextConnection } from '../tasks/not-accepted.ts';
import type { Task } from '../tasks/task.ts';
import { lockState } from '../tasks/task-listing.ts';
import { move } from '../tasks/transitions.ts';
import { lockCurrentAttempt } from './attempts.ts';
import { readCancel } from './cancel-requests.ts';

// The task counts as announced, since its client may know that it was accepted. Tasks from before a
// recovery are not retried: the database may have lost the record of an earlier retry.
const HAND_OVER = statement(
  'task_retry_failed',
  `update tasks set provider = $3, retried_from = provider, route_tried = null,
     announced_at = coalesce(announced_at, clock_now())
   where id = $1 and lease = $2 and phase = 'generating' and retried_from is null
     and outcome_holds = 0 and ${NOTHING_LOST_SINCE('created_at')}
   returning id`,
);

const REPLACE = statement(
  'attempt_replace',
  `update attempts set state = 'replaced', cause = $2 where id = $1`,
);

/**
 * Gives a task whose job failed to another connection, once in its life (decisions/0065). Only if
 * the sender saw this job accepted, nothing was ever held, and nobody asked for a cancel.
 * @returns undefined if the failure is final
 */
export async function retryFailed(
  tx: Transaction,
  task: Task,
  { jobId, next, failure }: { jobId: string; next: NextConnection; failure: object },
): Promise<Task | undefined> {
  const attempt = await lockCurrentAttempt(tx, task.id);
  if (attempt?.job_id !== jobId || attempt.outcome_by !== 'sender') return undefined;
  await lockState(tx, task.id); // as a cancel does, so that none is requested meanwhile
  if (await readCancel(tx, task.id)) return undefined;
  const handedOver = await tx.query(HAND_OVER, [task.id, task.lease, next.connection]);
  if (handedOver.length === 0) return undefined;
  await tx.query(REPLACE, [attempt.id, jsonText(failure)]);
  const connections = { connection: task.provider, next: next.connection };
  const cause = { job: jobId, ...failure, ...connections, choice: next.reason };
  return move(tx, task, { to: 'submitting', cause });
}
