import { type Database, statement } from '../../database/database.ts';

/** A provider's rate limit for one kind of call. All processes that use the quota share it. */
export interface RateBudget {
  /** The provider and, if it has API keys, a hash of the key. */
  quota: string;
  purpose: 'submit' | 'read' | 'find';
  callsPerSecond: number;
}

/**
 * If the next free turn is more than 60 s away, the database's clock was set back after it was
 * taken, so it is ignored. A real queue is normally shorter, because a step waits for one turn at
 * a time: the 16 held tasks that a process works on wait at most 21 s at Ark, where 0.75 pages a
 * second are read. A longer real queue is ignored too, and the rate is exceeded until the calls
 * that wait in it have been made.
 */
export const MAX_QUEUE_SECONDS = 60;

// Callers queue for the row's lock, and the clock is read under the lock. So turns of one quota and
// purpose are never closer together than the spacing, however many callers there are.
const TAKE_TURN = statement(
  'provider_turn_take',
  `insert into provider_turns as t (quota, purpose, next_free)
   values ($1, $2, clock_now() + $3::int8 * interval '1 microsecond')
   on conflict (quota, purpose) do update
     set next_free = case
         when t.next_free > clock_now() + ${MAX_QUEUE_SECONDS} * interval '1 second'
         then clock_now() else greatest(t.next_free, clock_now())
       end + $3::int8 * interval '1 microsecond'
   returning greatest(0, extract(epoch from
     t.next_free - $3::int8 * interval '1 microsecond' - clock_now()))::float8 as wait_seconds`,
);

/**
 * Takes the next free turn for a call, first come, first served. Turns are at least `1 /
 * callsPerSecond` seconds apart. Unused turns are not saved up: there is no burst after an idle
 * time.
 * @param db not a transaction: the turn's row would stay locked until the transaction ends
 * @returns how many seconds from now the turn is; a turn that is not used is lost
 */
export async function takeTurn(db: Database, budget: RateBudget): Promise<number> {
  const spacing = spacingMicroseconds(budget.callsPerSecond);
  const values = [budget.quota, budget.purpose, spacing];
  const [turn] = await db.query<{ wait_seconds: number }>(TAKE_TURN, values);
  if (!turn) throw new Error('the statement that takes a turn returned no row');
  return turn.wait_seconds;
}

/** Rounded up, so that the rate is never above the limit. */
function spacingMicroseconds(callsPerSecond: number): number {
  if (!(callsPerSecond > 0))
    throw new RangeError(`callsPerSecond must be above 0: ${callsPerSecond}`);
  return Math.ceil(1_000_000 / callsPerSecond);
}
