import { startInterval } from '../kernel/interval.ts';
import type { Log } from '../kernel/log.ts';
import { type Database, statement } from './database.ts';

const READ = statement(
  'clock_read',
  'select extract(epoch from clock_now())::float8 * 1000 as now_ms',
);

/** How often the clocks are compared. In between, they drift by a few milliseconds at most. */
const COMPARE_SECONDS = 60;

/**
 * A clock, in milliseconds since 1970, that agrees with the database's clock to a few milliseconds
 * and needs no query per read. The clocks are compared at once and each minute, until the signal
 * aborts.
 */
export async function followDatabaseClock(deps: {
  db: Database;
  log: Log;
  signal: AbortSignal;
}): Promise<() => number> {
  let aheadMs = await databaseAheadMs(deps.db);
  startInterval(
    COMPARE_SECONDS,
    { ...deps, name: 'comparing the clock with the database' },
    async () => {
      aheadMs = await databaseAheadMs(deps.db);
    },
  );
  return () => Date.now() + aheadMs;
}

/**
 * How far the database's clock is ahead. The query reads it about halfway through its round trip.
 */
async function databaseAheadMs(db: Database): Promise<number> {
  const sentAt = Date.now();
  const [clock] = await db.query<{ now_ms: number }>(READ);
  if (!clock) throw new Error('clock_now() returned no row');
  return clock.now_ms - (sentAt + Date.now()) / 2;
}
