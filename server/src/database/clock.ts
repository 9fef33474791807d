import { startInterval } from '../kernel/interval.ts';
import type { Log } from '../kernel/log.ts';
import { type Database, queryValue } from './database.ts';

/** In milliseconds since 1970. */
export const readClockMs = queryValue<[], number>(
  'clock_read',
  'select extract(epoch from clock_now())::float8 * 1000',
  Number.NaN,
);

/** The pause between comparisons, in which the clocks drift by a few milliseconds at most. */
const COMPARE_SECONDS = 60;

/** A clock, in milliseconds since 1970, that follows the database's without a query per read. */
export async function followDatabaseClock(deps: {
  db: Database;
  log: Log;
  signal: AbortSignal;
}): Promise<() => number> {
  let aheadMs = await databaseAheadMs(deps.db);
  const options = { ...deps, name: 'comparing the clock with the database' };
  startInterval(COMPARE_SECONDS, options, async () => {
    aheadMs = await databaseAheadMs(deps.db);
  });
  return () => Date.now() + aheadMs;
}

/** How far the database's clock is ahead. It is read about halfway through the round trip. */
export async function databaseAheadMs(db: Database): Promise<number> {
  const sentAt = Date.now();
  const nowMs = await readClockMs(db);
  return nowMs - (sentAt + Date.now()) / 2;
}
