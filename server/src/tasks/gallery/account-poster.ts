import { type Database, statement } from '../../database/database.ts';
import { posterOf } from '../../storage/object-sql.ts';

const READ = statement(
  'gallery_poster',
  `select p.id, p.size_bytes from tasks cross join lateral (${posterOf('tasks.id')}) p
   where tasks.id = $1 and tasks.account_id = $2`,
);

/** The stored poster of a task, if the account has the task and the task has a poster. */
export async function accountPoster(
  db: Database,
  accountId: string,
  taskId: string,
): Promise<{ id: string; size_bytes: number } | undefined> {
  const [poster] = await db.query<{ id: string; size_bytes: number }>(READ, [taskId, accountId]);
  return poster;
}
