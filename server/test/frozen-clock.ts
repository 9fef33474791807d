import { type Database, statement } from '../src/database/database.ts';

const START_SECONDS = Date.UTC(2030, 0, 1) / 1000;

/**
 * Sets the database's clock to `seconds` after a fixed start and stops it there, for every
 * connection, until it is set again.
 */
export async function freezeClock(db: Database, seconds: number): Promise<void> {
  const moment = `to_timestamp(${START_SECONDS + seconds})`;
  await db.query(
    statement(
      `freeze_clock_${seconds}`,
      `create or replace function clock_now() returns timestamptz language sql volatile
       as $$ select ${moment} $$`,
    ),
  );
}
