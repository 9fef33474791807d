import { createFairSemaphore } from '../kernel/fair-semaphore.ts';
import type { Database } from './database.ts';

/**
 * Wraps a database to use at most `count` connections at a time; further work waits. Work that
 * holds a connection must not ask for another one.
 */
export function fewConnections(db: Database, count: number): Database {
  const permits = createFairSemaphore(count);
  const inTurn = <T>(work: () => Promise<T>) => permits.run('', undefined, work);
  return {
    ...db,
    query: (sql, values) => inTurn(() => db.query(sql, values)),
    transaction: (work) => inTurn(() => db.transaction(work)),
    snapshot: (work) => inTurn(() => db.snapshot(work)),
  };
}
