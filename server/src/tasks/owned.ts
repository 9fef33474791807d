import { first, type Queryable, statement } from '../database/database.ts';
import { TASK_COLUMNS, type Task } from './task.ts';

const READ = statement(
  'task_read_owned',
  `select ${TASK_COLUMNS} from tasks
   where id = $1 and account_id = $2 and ($3::text is null or surface = $3)`,
);

/** A task of an account, of this surface if it is given. */
export async function readOwned(
  db: Queryable,
  { accountId, id, surface }: { accountId: string; id: string; surface?: string },
): Promise<Task | undefined> {
  return first<Task>(db, READ, [id, accountId, surface ?? null]);
}
