import { type Database, type Queryable, statement } from '../database/database.ts';
import type { Log } from '../kernel/log.ts';
import { neededVariables } from '../providers/registry.ts';
import { IS_UNSERVED } from '../tasks/live-workers.ts';

/** Live tasks of a provider that no running worker has. */
export interface UnservedTasks {
  provider: string;
  tasks: number;
}

const UNSERVED = statement(
  'tasks_unserved',
  `select provider, count(*)::int as tasks from tasks
   where due_at is not null and provider <> all($1) and ${IS_UNSERVED}
   group by provider order by provider`,
);

/** The live tasks that no running worker can work on, besides those of the given providers. */
export function unservedTasks(db: Queryable, providers: string[] = []): Promise<UnservedTasks[]> {
  return db.query(UNSERVED, [providers]);
}

/**
 * Warns of live tasks whose provider neither this process nor a running worker has, and says what
 * to set.
 */
export async function warnOfUnserved(
  providers: ReadonlyMap<string, unknown>,
  { db, log }: { db: Database; log: Log },
): Promise<void> {
  for (const { provider, tasks } of await unservedTasks(db, [...providers.keys()])) {
    const [needed] = neededVariables(provider);
    const message = needed
      ? `live tasks were given to ${provider}, which no running worker has: set ${needed.variable}`
      : `live tasks were given to ${provider}, which is not known`;
    log.warn({ provider, tasks }, message);
  }
}
