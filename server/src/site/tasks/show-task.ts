import type { Database } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import { taskMovements } from '../../ledger/task-movements.ts';
import type { Links } from '../../storage/links.ts';
import { readTaskRecord } from '../../tasks/gallery/task-record.ts';
import { siteRoute } from '../route.ts';
import { shownTask } from './shown-task.ts';

interface ShowDeps {
  db: Database;
  links: Links;
}

/** @throws ApiError `not_found` when the account has no such task */
export async function readShownTask({ db, links }: ShowDeps, accountId: string, id: string) {
  const task = await readTaskRecord(db, accountId, id);
  if (!task) throw new ApiError('not_found', 'This account has no video with this id.');
  return shownTask(task, await taskMovements(db, accountId, id), links);
}

/** Shows a task of the account, of any surface, also an archived one. */
export const showTaskOfAccount = siteRoute('GET /console/api/tasks/:id', {
  handle: (deps: ShowDeps, { params, session: { accountId } }) =>
    readShownTask(deps, accountId, params.id),
});
