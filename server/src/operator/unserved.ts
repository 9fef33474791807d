import { type Database, statement } from '../database/database.ts';

const UNSERVED = statement(
  'tasks_unserved',
  `select provider, count(*)::int as tasks from tasks
   where due_at is not null and provider <> all($1) group by provider order by provider`,
);

/** The providers beside these that live tasks were given to, and how many tasks. */
export function unservedTasks(
  db: Database,
  providers: string[],
): Promise<Array<{ provider: string; tasks: number }>> {
  return db.query(UNSERVED, [providers]);
}
