import type { Database } from '../database/database.ts';
import type { Log } from '../kernel/log.ts';
import { neededVariables } from '../providers/registry.ts';
import { unservedTasks } from '../worker/live-workers.ts';

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
