import { type Database, statement } from '../../database/database.ts';

/** A provider's limit on one kind of call, which all processes that use the account share. */
export interface RateBudget {
  /** Whose limit it is: the provider and, where several are used, its account. */
  quota: string;
  purpose: 'submit' | 'read' | 'find';
  callsPerSecond: number;
}

/** A turn further away was taken by a clock that has been set back since. */
export const MAX_LINE_SECONDS = 60;

// The row's lock puts callers in line, and only its holder looks at the clock: so turns of one
// account and purpose never lie closer together than the spacing, however many ask at a time.
const TAKE_TURN = statement(
  'provider_turn_take',
  `insert into provider_turns as t (quota, purpose, next_free)
   values ($1, $2, clock_now() + $3::int8 * interval '1 microsecond')
   on conflict (quota, purpose) do update
     set next_free = case
         when t.next_free > clock_now() + ${MAX_LINE_SECONDS} * interval '1 second'
         then clock_now() else greatest(t.next_free, clock_now())
       end + $3::int8 * interval '1 microsecond'
   returning greatest(0, extract(epoch from
     t.next_free - $3::int8 * interval '1 microsecond' - clock_now()))::float8 as wait_seconds`,
);

/**
 * Takes the next free turn for a call, first come first served. Turns lie at least
 * `1 / callsPerSecond` seconds apart and none is saved up: an idle account allows no burst.
 * @param db not a transaction: the turn's row would stay locked until its end
 * @returns how many seconds from now the turn is; whoever does not use it simply loses it
 */
export async function takeTurn(db: Database, budget: RateBudget): Promise<number> {
  const spacing = spacingMicroseconds(budget.callsPerSecond);
  const values = [budget.quota, budget.purpose, spacing];
  const [turn] = await db.query<{ wait_seconds: number }>(TAKE_TURN, values);
  if (!turn) throw new Error('a turn was neither taken nor refused');
  return turn.wait_seconds;
}

/** Rounded up, so that the rate is never above what was asked. */
function spacingMicroseconds(callsPerSecond: number): number {
  if (!(callsPerSecond > 0)) throw new RangeError(`${callsPerSecond} calls a second never come`);
  return Math.ceil(1_000_000 / callsPerSecond);
}
