import {
  namedStatement,
  type Queryable,
  statement,
  type Transaction,
} from '../database/database.ts';
import { jsonText, storable } from '../database/json-text.ts';
import { type DueDelivery, ENDPOINT_LEASE_SECONDS, type LeasedEndpoint } from './claim.ts';

/** Seconds from a failed try to the next one: 5 s, 5 and 30 min, 2, 5, 10, 14, 20 and 24 h. */
export const RETRY_SECONDS = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400] as const;
/** A retry comes up to a tenth later, so that not all come at once. */
const JITTER = 0.1;
/** An endpoint is switched off when every delivery has failed for this long. */
export const FAILING_DAYS = 5;
/** The circuit: after n turns without a success, an endpoint rests 5 s * 2^(n-1), at most 5 min. */
const REST_SECONDS = 5;
const MAX_REST_SECONDS = 300;

/** How a try ended. */
export interface DeliveryAttempt {
  delivery: DueDelivery;
  durationMs: number;
  /** The HTTP status; null without a response. */
  status: number | null;
  cause: string | null;
  response: string | null;
}

export function isDelivered({ status }: DeliveryAttempt): boolean {
  return status !== null && status >= 200 && status < 300;
}

// A try of another process may have been recorded meanwhile: only an unchanged delivery moves.
const RECORD = namedStatement(
  'webhook_attempts_record',
  ['attempts'],
  `with given as materialized (
     select g.id, g.number, g.duration_ms, g.status, g.cause, g.response, g.state,
       g.delay_seconds
     from jsonb_to_recordset(:attempts::jsonb) as g (id bigint, number int, duration_ms int,
       status int, cause text, response text, state text, delay_seconds float8)),
   logged as (
     insert into webhook_attempts (delivery_id, number, at, duration_ms, status, cause, response)
     select d.id, given.number, clock_now() - given.duration_ms * interval '1 millisecond',
       given.duration_ms, given.status, given.cause, given.response
     from given join webhook_deliveries d on d.id = given.id
     on conflict do nothing)
   update webhook_deliveries d set attempts = given.number, state = given.state,
     due_at = clock_now() + given.delay_seconds * interval '1 second'
   from given where d.id = given.id and d.attempts < given.number`,
);

/** Records tries, and when the deliveries that failed are tried again. */
async function recordAttempts(tx: Queryable, attempts: DeliveryAttempt[]): Promise<void> {
  const rows = attempts.map((attempt) => {
    const { delivery, durationMs, status, cause, response } = attempt;
    const retrySeconds = RETRY_SECONDS[delivery.attempts];
    const isRetried = !isDelivered(attempt) && retrySeconds !== undefined;
    return {
      id: delivery.id,
      number: delivery.attempts + 1,
      duration_ms: durationMs,
      status,
      cause: cause && storable(cause),
      response: response && storable(response),
      state: isDelivered(attempt) ? 'delivered' : isRetried ? 'waiting' : 'failed',
      delay_seconds: isRetried ? retrySeconds * (1 + JITTER * Math.random()) : null,
    };
  });
  await tx.query(RECORD, RECORD.values({ attempts: jsonText(rows) }));
}

const SUCCESS = statement(
  'webhook_endpoint_success',
  `update webhook_endpoints set failures = 0, failing_since = null, paused_until = null,
     leased_until = clock_now() + interval '${ENDPOINT_LEASE_SECONDS} seconds' where id = $1`,
);

const FAILURE = statement(
  'webhook_endpoint_failure',
  `update webhook_endpoints set failures = failures + 1, leased_until = null,
     failing_since = coalesce(failing_since, clock_now()),
     paused_until = clock_now() + least(${MAX_REST_SECONDS},
       ${REST_SECONDS} * 2 ^ least(failures, 10)) * interval '1 second'
   where id = $1`,
);

const SWITCH_OFF = statement(
  'webhook_endpoint_switch_off',
  `update webhook_endpoints set disabled_at = clock_now(), leased_until = null,
     disabled_because = case when $2 then 'gone' else 'failing' end
   where id = $1 and disabled_at is null and deleted_at is null
     and ($2 or failing_since < clock_now() - interval '${FAILING_DAYS} days')
   returning disabled_because`,
);

/** What the endpoint does next: it gets further deliveries, rests, or was switched off. */
export type Verdict = 'goes_on' | 'rests' | 'gone' | 'failing';

/** Records the tries of a turn and what they say about the endpoint, in one transaction. */
export async function recordTurn(
  tx: Transaction,
  { id }: LeasedEndpoint,
  attempts: DeliveryAttempt[],
): Promise<Verdict> {
  await recordAttempts(tx, attempts);
  const isGone = attempts.some(({ status }) => status === 410);
  if (!isGone && attempts.some(isDelivered)) {
    await tx.query(SUCCESS, [id]);
    return 'goes_on';
  }
  if (!isGone) await tx.query(FAILURE, [id]);
  const [off] = await tx.query<{ disabled_because: 'gone' | 'failing' }>(SWITCH_OFF, [id, isGone]);
  return off?.disabled_because ?? 'rests';
}
