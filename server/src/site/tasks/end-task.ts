import { videoTask } from '../../http/public/video-task.ts';
import { type CancelDeps, cancelForOwner } from '../../http/tasks/cancel-task.ts';
import { requireOutput } from '../../http/tasks/delete-output.ts';
import { ApiError } from '../../kernel/errors.ts';
import type { Links } from '../../storage/links.ts';
import { deleteOutput } from '../../tasks/cancel/delete-output.ts';
import { readOwned } from '../../tasks/owned.ts';
import { publicColumns, type Task } from '../../tasks/task.ts';
import { siteRoute } from '../route.ts';

export interface EndDeps extends CancelDeps {
  links: Links;
}

/** POST: cancels a task of the account, of any surface. */
export const cancelTaskOfAccount = siteRoute('POST /console/api/tasks/:id/cancel', {
  handle: async (deps: EndDeps, { params, session: { accountId } }) => {
    const task = await ownTask(deps, accountId, params.id);
    const { cancel, refusal } = await cancelForOwner(deps, task, shownBy(deps));
    return { cancel, refusal };
  },
});

/** DELETE: the video of a completed task, of any surface. */
export const deleteOutputOfAccount = siteRoute('DELETE /console/api/tasks/:id/output', {
  handle: async (deps: EndDeps, { params, session: { accountId } }) => {
    const task = await ownTask(deps, accountId, params.id);
    await deleteOutput(
      deps.db,
      requireOutput(publicColumns(task), () => shownBy(deps)(task)),
    );
    return { deleted: true };
  },
});

async function ownTask({ db }: EndDeps, accountId: string, id: string): Promise<Task> {
  const task = await readOwned(db, { accountId, id });
  if (!task) throw new ApiError('not_found', 'This account has no video with this id.');
  return task;
}

const shownBy =
  ({ links }: EndDeps) =>
  (task: Task) =>
    videoTask(publicColumns(task), links);
