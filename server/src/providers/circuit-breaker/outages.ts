import {
  command,
  type Database,
  namedStatement,
  type Queryable,
  query,
  queryFirst,
  queryValue,
  statement,
  type Transaction,
  together,
  whether,
} from '../../database/database.ts';
import { jsonText } from '../../database/json-text.ts';
import type { SubmitOutcome } from '../provider.ts';

/** Failures in a row that close a provider. A single one with a Retry-After closes it at once. */
const FAILURES_TO_CLOSE = 3;
/** Failures further apart than this are not in a row. */
const IN_A_ROW_SECONDS = 60;
/** The longest time that a provider is closed without a Retry-After. */
const MAX_SECONDS = 30;
const MAX_ANNOUNCED_SECONDS = 300; // with a Retry-After

/** The recorded state of a provider. Seconds are counted from now. */
export interface Outage {
  /** Failures in a row. */
  failures: number;
  seconds_since_failure: number;
  /** How often it was closed since a submit got through. */
  closings: number;
  /** 0 or less: the time is over, and no submit got through yet. null: not closed. */
  closed_seconds: number | null;
}

/**
 * @param announced the provider's Retry-After in seconds
 * @returns `closeSeconds`: for how long the provider is closed from now on; null: no change
 */
export function afterFailure(
  outage: Outage,
  announced: number | undefined,
): { failures: number; closings: number; closeSeconds: number | null } {
  const { closings, closed_seconds: closedSeconds } = outage;
  const asked = announced
    ? Math.min(MAX_ANNOUNCED_SECONDS, Math.max(1, Math.ceil(announced)))
    : undefined;
  if (closedSeconds !== null && closedSeconds > 0) {
    const isLonger = asked !== undefined && asked > closedSeconds;
    return { failures: outage.failures, closings, closeSeconds: isLonger ? asked : null };
  }
  const isInARow = outage.seconds_since_failure < IN_A_ROW_SECONDS;
  const failures = isInARow ? outage.failures + 1 : 1;
  const closes = asked !== undefined || closedSeconds !== null || failures >= FAILURES_TO_CLOSE;
  if (!closes) return { failures, closings, closeSeconds: null };
  const closeSeconds = asked ?? Math.min(MAX_SECONDS, 2 ** (closings + 1));
  return { failures, closings: closings + 1, closeSeconds };
}

/**
 * SQL: whether a time is over. A time further ahead than it can have been set counts as over: the
 * database's clock was set back since.
 */
function isOver(column: string, maxSeconds: number): string {
  return `(${column} is null or ${column} <= clock_now()
       or ${column} > clock_now() + interval '${maxSeconds + 1} seconds')`;
}

const CLOSED_IS_OVER = `closed_until is not null
     and ${isOver('closed_until', MAX_ANNOUNCED_SECONDS)}`;

/** SQL: for how many seconds a provider is still closed; 0: that time is over; null: not closed. */
const CLOSED_SECONDS = `case when ${CLOSED_IS_OVER} then 0
     else extract(epoch from closed_until - clock_now()) end::float8`;

const LOCK = statement(
  'outage_lock',
  `insert into provider_outages as o (provider, failures, failed_at, cause)
   values ($1, 0, clock_now(), '{}')
   on conflict (provider) do update set provider = excluded.provider
   returning failures, closings,
     extract(epoch from clock_now() - failed_at)::float8 as seconds_since_failure,
     ${CLOSED_SECONDS} as closed_seconds`,
);

const RECORD = namedStatement(
  'outage_record',
  `update provider_outages set failures = :failures, failed_at = clock_now(), cause = :cause,
     closings = :closings,
     closed_since = case when :closeSeconds::float8 is null then closed_since
       else coalesce(closed_since, clock_now()) end,
     closed_until = case when :closeSeconds::float8 is null then closed_until
       else clock_now() + :closeSeconds::float8 * interval '1 second' end,
     probe_until = case when :closeSeconds::float8 is null then probe_until end
   where provider = :provider`,
);

/** @returns for how many seconds the provider is closed from now on; undefined: no change */
export function recordFailure(
  db: Database,
  provider: string,
  outcome: SubmitOutcome,
): Promise<number | undefined> {
  return db.transaction(async (tx) => {
    const [outage] = await tx.query<Outage>(LOCK, [provider]);
    if (!outage) throw new Error(`there is no row for ${provider}`);
    const announced = 'retryAfterSeconds' in outcome ? outcome.retryAfterSeconds : undefined;
    const next = afterFailure(outage, announced);
    await tx.query(RECORD, RECORD.values({ provider, ...next, cause: jsonText(outcome) }));
    return next.closeSeconds ?? undefined;
  });
}

// While the provider is closed, the response to an earlier submit does not open it.
/** @returns whether this opened a closed provider */
export const recordSuccess = queryValue<[provider: string], boolean>(
  'outage_end',
  `delete from provider_outages
   where provider = $1 and ${isOver('closed_until', MAX_ANNOUNCED_SECONDS)}
   returning closed_until is not null as was_closed`,
  false,
);

/** Opens a provider without waiting. @returns whether it was closed */
export const resetOutage = queryValue<[provider: string], boolean, Transaction>(
  'outage_forget',
  'delete from provider_outages where provider = $1 returning closed_until is not null as closed',
  false,
);

/** SQL of an {@link Availability}, also within the admission. @param provider a name, as SQL */
export const availabilitySql = (provider: string) => ({
  columns: `creates_pause.subject is not null as creates_paused,
       provider_pause.subject is not null as paused,
       ${CLOSED_SECONDS} as closed_seconds`,
  joins: `left join pauses creates_pause on creates_pause.subject = 'creates'
       left join pauses provider_pause on provider_pause.subject = ${provider}
       left join provider_outages outage on outage.provider = ${provider}`,
});

/** Whether a connection takes new tasks: an operator or its circuit breaker may stop them. */
export interface Availability {
  /** An operator paused all creates. */
  creates_paused: boolean;
  /** An operator paused the connection. */
  paused: boolean;
  /**
   * Seconds until the circuit breaker lets one create try; 0 or less: now; null: it lets all
   * through.
   */
  closed_seconds: number | null;
}

/** A pause has no known end: a task or create that meets one tries again after this long. */
export const PAUSED_SECONDS = 30;
const PROBED_SECONDS = 2; // until the next try, while another submit or create is trying

type Closures = Pick<Availability, 'paused' | 'closed_seconds'>;

/** Whether an outage's time is over: one submit or create at a time tests the connection. */
export function isTrialDue({ paused, closed_seconds: seconds }: Closures): boolean {
  return !paused && seconds !== null && seconds <= 0;
}

/** Seconds until a connection may be tried; 0: it takes jobs. */
export function secondsUntilTrial(closures: Closures): number {
  if (closures.paused) return PAUSED_SECONDS;
  return isTrialDue(closures) ? PROBED_SECONDS : (closures.closed_seconds ?? 0);
}

/** {@link secondsUntilTrial} of the connection that may be tried first. */
export async function secondsUntilFirstTrial(db: Queryable, names: string[]): Promise<number> {
  const all = await together(...names.map((name) => readAvailability(db, name)));
  return Math.min(...all.map(secondsUntilTrial));
}

const OF_PROVIDER = availabilitySql('$1');

export const readAvailability = queryOneRow<Availability>(
  'outage_of_create',
  `select ${OF_PROVIDER.columns} from (values (1)) one (row) ${OF_PROVIDER.joins}`,
);

function queryOneRow<Row extends object>(name: string, text: string) {
  const read = queryFirst<[provider: string], Row>(name, text);
  return async (db: Queryable, provider: string): Promise<Row> => {
    const row = await read(db, provider);
    if (!row) throw new Error(`${name} returned no row`);
    return row;
  };
}

const CREATE_GAP_SECONDS = 5;

const takeCreateTry = whether<[provider: string]>(
  'outage_try_create',
  `update provider_outages
   set next_create_at = clock_now() + interval '${CREATE_GAP_SECONDS} seconds'
   where provider = $1 and ${CLOSED_IS_OVER} and ${isOver('next_create_at', CREATE_GAP_SECONDS)}
   returning provider`,
);

const isClosed = whether<[provider: string]>(
  'outage_is_closed',
  'select from provider_outages where provider = $1 and closed_until is not null',
);

/**
 * After the time of an outage is over, one create every 5 s passes until a submit gets through.
 * @returns whether this create passes
 */
export async function tryCreate(db: Queryable, provider: string): Promise<boolean> {
  return (await takeCreateTry(db, provider)) || !(await isClosed(db, provider));
}

/** Lets another create pass, because the one that passed created no task. */
export const allowNextCreate = command<[provider: string]>(
  'outage_allow_next_create',
  'update provider_outages set next_create_at = null where provider = $1',
);

/** Longer than a submit with its files. If its process dies, the next probe waits this long. */
const PROBE_SECONDS = 60;

/** Reads the state for a submit. After an outage, one submit at a time becomes the probe. */
export const enterProvider = queryOneRow<EntryState>(
  'provider_enter',
  `with probe as (
     update provider_outages set probe_until = clock_now() + interval '${PROBE_SECONDS} seconds'
     where provider = $1 and ${CLOSED_IS_OVER} and ${isOver('probe_until', PROBE_SECONDS)}
       and not exists (select from pauses where subject = $1)
     returning probe_until::text as id)
   select exists (select from pauses where subject = $1) as paused,
     (select ${CLOSED_SECONDS} from provider_outages where provider = $1) as closed_seconds,
     (select id from probe) as probe`,
);

interface EntryState {
  paused: boolean;
  closed_seconds: number | null;
  /** Set if this submit is the probe: its `probe_until`, for {@link endProbe}. */
  probe: string | null;
}

/** Lets another submit probe, unless the outcome of this one has decided already. */
export const endProbe = command<[provider: string, probe: string]>(
  'provider_end_probe',
  `update provider_outages set probe_until = null
   where provider = $1 and probe_until = $2::timestamptz`,
);

export const listOutages = query<[], ListedOutage>(
  'outage_list',
  `select provider, cause, closed_since, closed_until,
     closed_until <= clock_now() as is_over from provider_outages`,
);

export interface ListedOutage {
  provider: string;
  cause: object;
  closed_since: Date | null;
  closed_until: Date | null;
  is_over: boolean | null;
}
