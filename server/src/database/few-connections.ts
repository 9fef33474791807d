import { createFairSemaphore } from '../kernel/fair-semaphore.ts';
import type { Database } from './database.ts';

/**
 * Wraps a database to use at most `count` connections at a time; further work waits. Work that
 * holds a connection must not ask for another one.
 */
export function fewConnections(db: Database, count: number): Database {
  const permits = createFairSemaphore(count);
  // All work has the same key, so it runs in order of arrival.
  const inOrder = <T>(work: () => Promise<T>) => permits.run('', undefined, work);
  return {
    ...db,
    query: (sql, values) => inOrder(() => db.query(sql, values)),
    transaction: (work) => inOrder(() => db.transaction(work)),
    snapshot: (work) => inOrder(() => db.snapshot(work)),
  };
}
