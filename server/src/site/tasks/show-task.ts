import { Type } from 'typebox';
import type { Database } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import { taskMovements } from '../../ledger/task-movements.ts';
import type { Links } from '../../storage/links.ts';
import { readTaskRecord } from '../../tasks/gallery/task-record.ts';
import { sessionOf, siteRoute } from '../route.ts';
import { type ShownTask, shownTask } from './shown-task.ts';

/** Shows a task of the account, of any surface, also an archived one. */
export const showTaskOfAccount = siteRoute({
  method: 'GET',
  url: '/console/api/tasks/:id',
  params: Type.Object({ id: Type.String({ maxLength: 120 }) }),
  handle: async (
    { db, links }: { db: Database; links: Links },
    { params, request },
  ): Promise<ShownTask> => {
    const { accountId } = sessionOf(request);
    const task = await readTaskRecord(db, accountId, params.id);
    if (!task) throw new ApiError('not_found', 'This account has no video with this id.');
    return shownTask(task, await taskMovements(db, accountId, task.id), links);
  },
});
