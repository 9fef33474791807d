import { type Database, statement } from '../../database/database.ts';

export interface RateBudget {
  /** The provider and, if it has API keys, a hash of the key. */
  quota: string;
  purpose: 'submit' | 'read' | 'find';
  callsPerSecond: number;
}

// If the newest turn was taken in the future, the clock was set back since. The queue of turns is
// then taken to be as long as when that turn was taken. (A long queue alone does not prove that the
// clock jumped.)
const BEGIN = `case when t.taken_at > clock_now()
       then clock_now() + greatest(t.next_free - t.taken_at, interval '0')
       else greatest(t.next_free, clock_now()) end`;

// Callers queue for the row's lock, and the clock is read under the lock. So turns of one quota and
// purpose are never closer together than the spacing, however many callers there are.
const TAKE_TURN = statement(
  'provider_turn_take',
  `insert into provider_turns as t (quota, purpose, next_free, taken_at)
   values ($1, $2, clock_now() + $3::int8 * interval '1 microsecond', clock_now())
   on conflict (quota, purpose) do update
     set next_free = ${BEGIN} + $3::int8 * interval '1 microsecond', taken_at = clock_now()
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

const NEXT_TURN = statement(
  'provider_turn_next',
  `select extract(epoch from ${BEGIN} - clock_now())::float8 as wait_seconds
   from provider_turns t where quota = $1 and purpose = $2`,
);

/** Seconds until the next free turn, which is not taken. */
export async function secondsUntilTurn(db: Database, budget: RateBudget): Promise<number> {
  const values = [budget.quota, budget.purpose];
  const [next] = await db.query<{ wait_seconds: number }>(NEXT_TURN, values);
  return Math.max(0, next?.wait_seconds ?? 0);
}

/** How many turns are free within the next `seconds`; none is taken. */
export async function countFreeTurns(
  db: Database,
  budget: RateBudget,
  seconds: number,
): Promise<number> {
  const free = seconds - (await secondsUntilTurn(db, budget));
  return free < 0 ? 0 : Math.floor(free * budget.callsPerSecond) + 1;
}

/** Rounded up, so that the rate is never above the limit. */
function spacingMicroseconds(callsPerSecond: number): number {
  if (!(callsPerSecond > 0))
    throw new RangeError(`callsPerSecond must be above 0: ${callsPerSecond}`);
  return Math.ceil(1_000_000 / callsPerSecond);
}
