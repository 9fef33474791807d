import {
  namedStatement,
  type Queryable,
  statement,
  type Transaction,
} from '../database/database.ts';
import { jsonText, storable } from '../database/json-text.ts';
import { type DueDelivery, type LeasedEndpoint, renewEndpoint } from './claim.ts';

/** Seconds from a failed try to the next one: 5 s, 5 and 30 min, 2, 5, 10, 14, 20 and 24 h. */
export const RETRY_SECONDS = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400] as const;
/** Delays a retry by up to a tenth, so that not all come at once. */
const JITTER = 0.1;
/** An endpoint is switched off when every delivery has failed for this long. */
export const FAILING_DAYS = 5;
/** The circuit breaker: after n turns without a success, a pause of 5 s * 2^(n-1), at most 5 min. */
const PAUSE_SECONDS = 5;
const MAX_PAUSE_SECONDS = 300;

export interface DeliveryAttempt {
  delivery: DueDelivery;
  startedAt: number;
  durationMs: number;
  /** The HTTP status; null without a response. */
  status: number | null;
  cause: string | null;
  response: string | null;
}

export function isDelivered({ status }: DeliveryAttempt): boolean {
  return status !== null && status >= 200 && status < 300;
}

// Changes nothing if another process has recorded a try meanwhile. If the owner has requested a
// resend meanwhile, `due_at` has changed, and the delivery stays due. The join by id is repeated as
// `any` for the planner (see `statement`).
const RECORD = namedStatement(
  'webhook_attempts_record',
  `with given as materialized (
     select g.id, g.number, g.age_ms, g.duration_ms, g.status, g.cause, g.response,
       g.state, g.due_at, g.delay_seconds
     from jsonb_to_recordset(:attempts::jsonb) as g (id bigint, number int, age_ms int,
       duration_ms int, status int, cause text, response text, state text, due_at timestamptz,
       delay_seconds float8)),
   logged as (
     insert into webhook_attempts (delivery_id, number, at, duration_ms, status, cause, response)
     select d.id, given.number, clock_now() - given.age_ms * interval '1 millisecond',
       given.duration_ms, given.status, given.cause, given.response
     from given join webhook_deliveries d on d.id = given.id
     where d.id = any(array(select id from given))
     on conflict do nothing)
   update webhook_deliveries d set attempts = given.number,
     state = case when d.due_at = given.due_at then given.state else 'waiting' end,
     due_at = case when d.due_at = given.due_at
       then clock_now() + given.delay_seconds * interval '1 second' else d.due_at end
   from given where d.id = any(array(select id from given)) and d.id = given.id
     and d.attempts < given.number`,
);

async function recordAttempts(tx: Queryable, attempts: DeliveryAttempt[]): Promise<void> {
  const rows = attempts.map((attempt) => {
    const { delivery, startedAt, durationMs, status, cause, response } = attempt;
    const retrySeconds = RETRY_SECONDS[delivery.attempts];
    const isRetried = !isDelivered(attempt) && retrySeconds !== undefined;
    return {
      id: delivery.id,
      number: delivery.attempts + 1,
      age_ms: Math.round(performance.now() - startedAt),
      duration_ms: durationMs,
      status,
      cause: cause && storable(cause),
      response: response && storable(response),
      state: isDelivered(attempt) ? 'delivered' : isRetried ? 'waiting' : 'failed',
      due_at: delivery.due_at,
      delay_seconds: isRetried ? retrySeconds * (1 + JITTER * Math.random()) : null,
    };
  });
  await tx.query(RECORD, RECORD.values({ attempts: jsonText(rows) }));
}

const SUCCESS = statement(
  'webhook_endpoint_success',
  `update webhook_endpoints set failures = 0, failing_since = null, paused_until = null,
     leased_until = null, took_ms = $2 where id = $1`,
);

const FAILURE = statement(
  'webhook_endpoint_failure',
  `update webhook_endpoints set failures = failures + 1, leased_until = null,
     failing_since = coalesce(failing_since, clock_now()),
     paused_until = clock_now() + least(${MAX_PAUSE_SECONDS},
       ${PAUSE_SECONDS} * 2 ^ least(failures, 10)) * interval '1 second'
   where id = $1`,
);

// Responses of an old URL say nothing about one that the owner has set meanwhile.
const SWITCH_OFF = statement(
  'webhook_endpoint_switch_off',
  `update webhook_endpoints set disabled_at = clock_now(), leased_until = null,
     disabled_because = case when $2 then 'gone' else 'failing' end,
     notice = case when $2 then 'gone' else 'failing' end, notice_from = null
   where id = $1 and url = $3 and disabled_at is null and deleted_at is null
     and ($2 or failing_since < clock_now() - interval '${FAILING_DAYS} days')
   returning disabled_because`,
);

/** @returns the endpoint, with its lease renewed; undefined if it is paused or was switched off */
export async function recordTurn(
  tx: Transaction,
  { id, url }: LeasedEndpoint,
  attempts: DeliveryAttempt[],
): Promise<LeasedEndpoint | undefined> {
  await recordAttempts(tx, attempts);
  const isGone = attempts.some(({ status }) => status === 410);
  if (!isGone && attempts.some(isDelivered)) {
    await tx.query(SUCCESS, [id, Math.max(...attempts.map(({ durationMs }) => durationMs))]);
    return renewEndpoint(tx, id);
  }
  await tx.query(FAILURE, [id]);
  await tx.query(SWITCH_OFF, [id, isGone, url]);
  return undefined;
}
