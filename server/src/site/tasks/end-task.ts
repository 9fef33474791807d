import { ApiError } from '../../kernel/errors.ts';
import { cancelForOwner, deleteOutputOf, type EndDeps } from '../../requests/end-task.ts';
import { publicColumns, readOwned, type Task } from '../../tasks/task.ts';
import { siteRoute } from '../route.ts';

/** POST: cancels a task of the account, of any surface. */
export const cancelTaskOfAccount = siteRoute('POST /console/api/tasks/:id/cancel', {
  handle: async (deps: EndDeps, { params, session: { accountId } }) => {
    const task = await ownTask(deps, accountId, params.id);
    const { cancel, refusal } = await cancelForOwner(deps, task);
    return { cancel, refusal };
  },
});

/** DELETE: the video of a completed task, of any surface. */
export const deleteOutputOfAccount = siteRoute('DELETE /console/api/tasks/:id/output', {
  handle: async (deps: EndDeps, { params, session: { accountId } }) => {
    const task = await ownTask(deps, accountId, params.id);
    await deleteOutputOf(deps, publicColumns(task));
    return { deleted: true };
  },
});

async function ownTask({ db }: EndDeps, accountId: string, id: string): Promise<Task> {
  const task = await readOwned(db, { accountId, id });
  if (!task) throw new ApiError('not_found', 'This account has no video with this id.');
  return task;
}
