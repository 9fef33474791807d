import {
  command,
  type Database,
  queryValue,
  type Transaction,
  whether,
} from '../database/database.ts';
import type { Log } from '../kernel/log.ts';
import { LEASE_SECONDS } from '../tasks/transitions.ts';

/** Smaller jumps are ignored: they delay nothing for longer than this. */
const MIN_JUMP_SECONDS = 5;

const advanceClockMark = whether<[]>(
  'clock_mark_advance',
  'update clock_marks set latest = clock_now() where latest < clock_now() returning true',
);

// The row lock lets only one process repair a jump.
const setClockMarkBack = queryValue<[], number>(
  'clock_mark_back',
  `with before as (select latest from clock_marks for update)
   update clock_marks set latest = clock_now()
   from before
   where before.latest > clock_now() + interval '${MIN_JUMP_SECONDS} seconds'
   returning extract(epoch from before.latest - clock_now())::float8`,
  0,
);

const wakeAll = command(
  'clock_jump_wake',
  'update tasks set due_at = clock_now() where due_at > clock_now()',
);

// Only live tasks have a due time, so its index is small.
const shortenLeases = command(
  'clock_jump_leases',
  `update tasks set leased_until = clock_now() + interval '${LEASE_SECONDS} seconds'
   where due_at is not null and leased_until > clock_now() + interval '${LEASE_SECONDS} seconds'`,
);

export interface ClockJumpDeps {
  db: Database;
  log: Log;
  /** Repairs the times of other rooms, in the same transaction. */
  forgetFuture(tx: Transaction): Promise<void>;
}

/**
 * Detects by a mark in the database that its clock was set back, even while no process ran.
 * Then all tasks become due at once: a step that runs too early changes nothing.
 * @returns by how many seconds the clock was set back; 0 if it was not
 */
export async function repairClockJump(deps: ClockJumpDeps): Promise<number> {
  const { db, log } = deps;
  if (await advanceClockMark(db)) return 0;
  const seconds = await db.transaction(async (tx) => {
    const behind = await setClockMarkBack(tx);
    if (behind === 0) return 0;
    await wakeAll(tx);
    await shortenLeases(tx);
    await deps.forgetFuture(tx);
    return behind;
  });
  if (seconds > 0) log.error({ seconds }, 'the clock of the database was set back');
  return seconds;
}
