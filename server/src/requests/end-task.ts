import { cancelAndWait, NotCancellable, type OwnerCancel } from '../attempts/cancel.ts';
import { deleteOutput } from '../attempts/erase.ts';
import type { Database } from '../database/database.ts';
import { ApiError } from '../kernel/errors.ts';
import type { Links } from '../storage/links.ts';
import { type PublicColumns, publicColumns, readTasks, type Task } from '../tasks/task.ts';
import type { Waiting } from '../tasks/waiting.ts';
import { videoTask } from './video-task.ts';

export interface EndDeps {
  db: Database;
  links: Links;
  waiting: Pick<Waiting, 'stopping'>;
}

/**
 * Cancels a task for its owner.
 * @throws ApiError `not_cancellable`, with the current task; `service_busy`
 */
export async function cancelForOwner(
  { db, links, waiting }: EndDeps,
  task: Task,
): Promise<OwnerCancel> {
  try {
    return await cancelAndWait(db, task, waiting.stopping);
  } catch (error) {
    if (!(error instanceof NotCancellable)) throw error;
    const isHeld = error.obstacle === 'held';
    const message = isHeld
      ? 'It is not known yet whether the provider makes this video. The task is held until then.'
      : 'This task has ended. There is nothing to cancel.';
    const [now = task] = await readTasks(db, [task.id]);
    const shown = videoTask(publicColumns(now), links);
    const details = { reason: isHeld ? 'held' : 'ended', task: shown };
    throw new ApiError('not_cancellable', message, { details, cause: error });
  }
}

/**
 * Deletes the output of a completed task.
 * @throws ApiError `no_output`, with the task
 */
export async function deleteOutputOf(
  { db, links }: Pick<EndDeps, 'db' | 'links'>,
  task: PublicColumns,
): Promise<void> {
  const { phase, output_object_id: objectId } = task;
  if (phase === 'completed' && objectId !== null) return deleteOutput(db, objectId);
  const message =
    phase === 'failed'
      ? 'This task failed: it has no video.'
      : 'This task is not completed: cancel it instead.';
  const shown = videoTask(task, links);
  throw new ApiError('no_output', message, { details: { task: shown } });
}
