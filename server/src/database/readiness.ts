import { setTimeout as delay } from 'node:timers/promises';
import { type Database, statement } from './database.ts';

// Writes no row. A read-only standby refuses it all the same, as it refuses the requests.
const READY = statement('database_ready', 'update migrations set name = name where false');

/** A monitor that asks about readiness does not wait longer. */
const RESPONSE_SECONDS = 2;

/**
 * Whether requests can be handled now. It takes the way of a request: it waits for a connection of
 * the same pool, and writes.
 */
export async function isReady(db: Database): Promise<boolean> {
  const stopped = new AbortController();
  const { signal } = stopped;
  const answer = db.query(READY).then(
    () => true,
    () => false,
  );
  const late = delay(RESPONSE_SECONDS * 1000, false, { signal }).catch(() => false);
  return Promise.race([answer, late]).finally(() => stopped.abort());
}
