import { namedStatement, type Queryable, statement } from '../database/database.ts';

/** A leased endpoint, with what a delivery to it needs. */
export interface LeasedEndpoint {
  id: string;
  account_id: string;
  mode: 'live' | 'test';
  url: string;
  /** The present secret, and for a day the one before. */
  secrets: string[];
  /** Turns in a row in which every delivery failed. */
  failures: number;
}

/** A lease ends this long after its last renewal. It is longer than a turn of deliveries. */
export const ENDPOINT_LEASE_SECONDS = 30;

/** Whether no process leases it. A lease further ahead was made before the clock fell back. */
const FREE = `coalesce(e.leased_until not between clock_now()
     and clock_now() + interval '${ENDPOINT_LEASE_SECONDS} seconds', true)`;

const OPEN = `e.disabled_at is null and e.deleted_at is null
     and coalesce(e.paused_until not between clock_now() and clock_now() + interval '10 minutes',
       true)`;

// `waiting` jumps from endpoint to endpoint along the index, so that one endpoint with very many
// deliveries costs as little as one with a single one.
const CLAIM = namedStatement(
  'webhook_claim',
  ['sound', 'failing'],
  `with recursive waiting as (
     (select endpoint_id, due_at from webhook_deliveries where due_at is not null
      order by endpoint_id, due_at limit 1)
     union all
     select next.endpoint_id, next.due_at from waiting w cross join lateral (
       select d.endpoint_id, d.due_at from webhook_deliveries d
       where d.due_at is not null and d.endpoint_id > w.endpoint_id
       order by d.endpoint_id, d.due_at limit 1) next),
   due as materialized (
     select e.id, row_number() over (partition by e.failures > 0 order by w.due_at) as place,
       e.failures > 0 as is_failing
     from waiting w join webhook_endpoints e on e.id = w.endpoint_id
     where w.due_at <= clock_now() and ${OPEN} and ${FREE})
   update webhook_endpoints e
   set leased_until = clock_now() + interval '${ENDPOINT_LEASE_SECONDS} seconds'
   where e.id = any(array(select id from due
       where place <= case when is_failing then :failing::int else :sound::int end))
     and ${OPEN} and ${FREE}
   returning e.id, e.account_id, e.mode, e.url, e.failures,
     array_remove(array[e.secret, case when e.earlier_secret_until > clock_now()
       then e.earlier_secret end], null) as secrets`,
);

/**
 * Leases endpoints that have due deliveries, those that wait the longest first.
 * @param places how many of those that respond, and of those that failed the last time
 */
export function claimEndpoints(
  db: Queryable,
  places: { sound: number; failing: number },
): Promise<LeasedEndpoint[]> {
  return db.query<LeasedEndpoint>(CLAIM, CLAIM.values(places));
}

const RELEASE = statement(
  'webhook_release',
  'update webhook_endpoints set leased_until = null where id = $1',
);

/** Ends a lease. */
export async function releaseEndpoint(db: Queryable, id: string): Promise<void> {
  await db.query(RELEASE, [id]);
}

/** A delivery that is due. */
export interface DueDelivery {
  id: number;
  event_id: string;
  type: string;
  task_id: string | null;
  data: object | null;
  created_at: Date;
  attempts: number;
  /** Of the database's clock. */
  now_seconds: number;
}

const DUE = statement(
  'webhook_due',
  `select id, event_id, type, task_id, data, created_at, attempts,
     extract(epoch from clock_now())::float8 as now_seconds
   from webhook_deliveries where endpoint_id = $1 and due_at <= clock_now()
   order by due_at, id limit $2`,
);

/** The deliveries of an endpoint that are due, the longest waiting first. */
export function dueDeliveries(
  db: Queryable,
  endpointId: string,
  limit: number,
): Promise<DueDelivery[]> {
  return db.query<DueDelivery>(DUE, [endpointId, limit]);
}
