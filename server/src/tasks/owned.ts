import { type Queryable, statement } from '../database/database.ts';
import { readArchived } from './archived.ts';
import { TASK_COLUMNS, type Task } from './task.ts';

const READ = statement(
  'task_read_owned',
  `select ${TASK_COLUMNS} from tasks where id = $1 and account_id = $2`,
);

/** A task of an account, of any surface, also an archived one. */
export async function readOwned(
  db: Queryable,
  { accountId, id }: { accountId: string; id: string },
): Promise<Task | undefined> {
  const [task] = await db.query<Task>(READ, [id, accountId]);
  return task ?? readArchived(db, id, { accountId });
}
