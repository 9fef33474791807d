import { type Database, statement } from '../database/database.ts';
import type { Log } from '../kernel/log.ts';
import { neededVariables } from '../providers/registry.ts';

const UNSERVED = statement(
  'tasks_unserved',
  `select provider, count(*)::int as tasks from tasks
   where due_at is not null and provider <> all($1) group by provider order by provider`,
);

/** Live tasks of other providers than these, counted by provider. */
function unservedTasks(
  db: Database,
  providers: string[],
): Promise<Array<{ provider: string; tasks: number }>> {
  return db.query(UNSERVED, [providers]);
}

/** Warns of live tasks whose provider this process does not have, and says what to set. */
export async function warnOfUnserved(
  providers: ReadonlyMap<string, unknown>,
  { db, log }: { db: Database; log: Log },
): Promise<void> {
  for (const { provider, tasks } of await unservedTasks(db, [...providers.keys()])) {
    const [needed] = neededVariables(provider);
    const message = needed
      ? `live tasks were given to ${provider}, which is not configured: set ${needed.variable}`
      : `live tasks were given to ${provider}, which is not known`;
    log.warn({ provider, tasks }, message);
  }
}
