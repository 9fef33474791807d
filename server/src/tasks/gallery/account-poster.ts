import { queryFirst } from '../../database/database.ts';
import { posterOf } from '../../storage/object-sql.ts';

/** The stored poster of a task, if the account has the task and the task has a poster. */
export const accountPoster = queryFirst<
  [accountId: string, taskId: string],
  { id: string; size_bytes: number }
>(
  'gallery_poster',
  `select p.id, p.size_bytes from tasks cross join lateral (${posterOf('tasks.id')}) p
   where tasks.account_id = $1 and tasks.id = $2`,
);
