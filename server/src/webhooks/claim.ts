import {
  command,
  namedStatement,
  type Queryable,
  query,
  queryFirst,
} from '../database/database.ts';

/** `failing`: every delivery of the last turn failed; `slow`: one took more than a second. */
export type EndpointSlot = 'sound' | 'slow' | 'failing';

export interface LeasedEndpoint {
  id: string;
  account_id: string;
  slot: EndpointSlot;
  mode: 'live' | 'test';
  url: string;
  /** The current secret, and for a day the previous one. */
  secrets: string[];
}

/** A lease ends this long after its last renewal. It is longer than a turn of deliveries. */
const ENDPOINT_LEASE_SECONDS = 30;

// SQL conditions on the endpoint `e`. A lease or a pause that ends later than a new one could
// is from before the clock was set back: it counts as over.
const UNLEASED = `coalesce(e.leased_until not between clock_now()
     and clock_now() + interval '${ENDPOINT_LEASE_SECONDS} seconds', true)`;

/** How many endpoints of an account get deliveries at a time, across all processes. */
const MAX_PER_ACCOUNT = 4;

const PAUSED = `coalesce(
     e.paused_until between clock_now() and clock_now() + interval '10 minutes', false)`;

const ENABLED = 'e.disabled_at is null and e.deleted_at is null';

/** A sound endpoint whose slowest delivery took longer than this is `slow`. */
export const SLOW_MS = 1000;

const SLOT = `case when e.failures > 0 then 'failing' when e.took_ms > ${SLOW_MS} then 'slow'
     else 'sound' end`;

const COLUMNS = `e.id, e.account_id, e.mode, e.url, ${SLOT} as slot,
     array_remove(array[e.secret, case when e.earlier_secret_until > clock_now()
       then e.earlier_secret end], null) as secrets`;

// A skip scan of the index, from endpoint to endpoint: one with very many deliveries costs no more
// than one with a single delivery.
const WAITING = `with recursive waiting as (
     (select endpoint_id, due_at from webhook_deliveries where due_at is not null
      order by endpoint_id, due_at limit 1)
     union all
     select next.endpoint_id, next.due_at from waiting w cross join lateral (
       select d.endpoint_id, d.due_at from webhook_deliveries d
       where d.due_at is not null and d.endpoint_id > w.endpoint_id
       order by d.endpoint_id, d.due_at limit 1) next)`;

// Each account's endpoints are numbered after those it has leased already (`of_account`): accounts
// with no delivery under way come first.
const CLAIM = namedStatement(
  'webhook_claim',
  `${WAITING},
   due as (
     select e.id, w.due_at, ${SLOT} as slot, leased.endpoints
       + row_number() over (partition by e.account_id order by w.due_at) as of_account
     from waiting w join webhook_endpoints e on e.id = w.endpoint_id
       cross join lateral (
         select count(*) as endpoints from webhook_endpoints o
         where o.account_id = e.account_id and o.deleted_at is null
           and o.leased_until between clock_now()
             and clock_now() + interval '${ENDPOINT_LEASE_SECONDS} seconds') leased
     where w.due_at <= clock_now() and ${ENABLED} and not ${PAUSED} and ${UNLEASED}),
   numbered as materialized (
     select id, slot,
       row_number() over (partition by slot order by of_account, due_at) as number
     from due where of_account <= ${MAX_PER_ACCOUNT})
   update webhook_endpoints e
   set leased_until = clock_now() + interval '${ENDPOINT_LEASE_SECONDS} seconds'
   where e.id = any(array(select id from numbered
       where number <= case slot when 'failing' then :failing::int
         when 'slow' then :slow::int else :sound::int end))
     and ${ENABLED} and ${UNLEASED}
   returning ${COLUMNS}`,
);

/** SQL: when the next delivery can be made; null: none is scheduled. */
export const NEXT_DELIVERY = `(${WAITING}
   select min(greatest(w.due_at, case when ${PAUSED} then e.paused_until end))
   from waiting w join webhook_endpoints e on e.id = w.endpoint_id
   where ${ENABLED} and ${UNLEASED})`;

/** Leases due endpoints: one of each account before any account's second, longest due first. */
export function claimEndpoints(
  db: Queryable,
  slots: Record<EndpointSlot, number>,
): Promise<LeasedEndpoint[]> {
  return db.query<LeasedEndpoint>(CLAIM, CLAIM.values(slots));
}

/** @returns the endpoint as it is now; undefined if nothing more is sent to it */
export const renewEndpoint = queryFirst<[id: string], LeasedEndpoint>(
  'webhook_renew',
  `update webhook_endpoints e
   set leased_until = clock_now() + interval '${ENDPOINT_LEASE_SECONDS} seconds'
   where e.id = $1 and ${ENABLED} returning ${COLUMNS}`,
);

export const releaseEndpoint = command<[id: string]>(
  'webhook_release',
  'update webhook_endpoints set leased_until = null where id = $1',
);

export interface DueDelivery {
  id: number;
  event_id: string;
  type: string;
  task_id: string | null;
  data: object | null;
  created_at: Date;
  attempts: number;
  /** The time as exact text, to notice a resend that was requested meanwhile. */
  due_at: string;
  now_seconds: number;
}

// `(select clock_now())`: a plain call is volatile, so the planner would not use the index.
export const dueDeliveries = query<[endpointId: string, limit: number], DueDelivery>(
  'webhook_due',
  `select id, event_id, type, task_id, data, created_at, attempts,
     due_at::text, extract(epoch from clock_now())::float8 as now_seconds
   from webhook_deliveries d where endpoint_id = $1 and due_at <= (select clock_now())
   order by d.due_at, id limit $2`,
);

export const postponeDeliveries = command<[ids: number[]]>(
  'webhook_postpone',
  `update webhook_deliveries set due_at = clock_now() + interval '1 minute'
   where id = any($1::bigint[]) and due_at <= clock_now()`,
);

/** Makes all deliveries due, after the clock was set back: an early try does no harm. */
export const wakeDeliveries = command<[]>(
  'webhook_wake',
  'update webhook_deliveries set due_at = clock_now() where due_at > clock_now()',
);

export interface WebhookFigures {
  /** `failing`: every recent delivery failed. */
  state: 'sound' | 'failing' | 'disabled';
  endpoints: number;
  deliveries: number;
  /** Seconds since the oldest waiting delivery became due. */
  oldest_seconds: number;
}

/** States without endpoints are left out. */
export const webhookFigures = query<[], WebhookFigures>(
  'webhook_figures',
  `select case when e.disabled_at is not null then 'disabled' when e.failures > 0 then 'failing'
       else 'sound' end as state,
     count(*)::int as endpoints, coalesce(sum(waiting.deliveries), 0)::int as deliveries,
     greatest(0, max(extract(epoch from clock_now() - waiting.oldest)))::float8 as oldest_seconds
   from webhook_endpoints e cross join lateral (
     select count(*) as deliveries, min(due_at) as oldest from webhook_deliveries
     where endpoint_id = e.id and due_at is not null) waiting
   where e.deleted_at is null group by 1`,
);
