import { namedStatement, type Queryable, statement } from '../database/database.ts';
import { ApiError, invalidRequest } from '../kernel/errors.ts';
import { withIsoTimes } from '../kernel/text/iso-time.ts';
import { type Owner, readEndpoint } from './endpoints.ts';
import { FIRST_DUE, NEW_EVENT_ID, TEST_EVENT } from './events.ts';

const LOG_DAYS = 30;

interface LoggedAttempt {
  at: string;
  duration_ms: number;
  status: number | null;
  cause: string | null;
  /** The first KiB of the response's body, as text. */
  response: string | null;
}

interface Delivery {
  event_id: string;
  type: string;
  task_id: string | null;
  data: object | null;
  created_at: Date;
  /** `failed`: no further try is made; `logged`: the endpoint had no URL. */
  state: 'waiting' | 'delivered' | 'failed' | 'logged';
  next_attempt_at: Date | null;
  attempts: LoggedAttempt[];
}

// A delivery that was resent very often shows only its last tries.
const ATTEMPTS = `(
     select coalesce(jsonb_agg(jsonb_build_object('at', a.at, 'duration_ms', a.duration_ms,
       'status', a.status, 'cause', a.cause, 'response', a.response) order by a.number), '[]')
     from (select number, at, duration_ms, status, cause, response from webhook_attempts
       where delivery_id = d.id order by number desc limit 20) a)`;

const LIST = namedStatement(
  'webhook_deliveries_list',
  `select d.id, d.event_id, d.type, d.task_id, d.data, d.created_at,
     case when d.state = 'waiting' and d.due_at is null then 'logged' else d.state end as state,
     d.due_at as next_attempt_at, ${ATTEMPTS} as attempts
   from webhook_deliveries d
   where d.endpoint_id = :endpointId and (:before::bigint is null or d.id < :before::bigint)
   order by d.id desc limit :limit`,
);

/** Newest first. @param page.before the cursor of the previous page @throws ApiError `not_found` */
export async function listDeliveries(
  db: Queryable,
  owner: Owner,
  page: { endpointId: string; before: number | null; limit: number },
) {
  await readEndpoint(db, owner, page.endpointId);
  const rows = await db.query<Delivery & { id: number }>(LIST, LIST.values(page));
  const last = rows.at(-1);
  const next = last && rows.length === page.limit ? String(last.id) : null;
  const data = rows.map(({ id: _, attempts, ...delivery }) => {
    return { ...delivery, attempts: attempts.map(withIsoTimes) };
  });
  return { data, next_cursor: next };
}

/** Ends the pause of endpoint $1 after failures: its owner wants to see now if it responds. */
const END_PAUSE = `resumed as (
     update webhook_endpoints set paused_until = null where id = $1 and paused_until is not null)`;

const SEND_AGAIN = statement(
  'webhook_send_again',
  `with ${END_PAUSE}
   update webhook_deliveries set state = 'waiting', due_at = ${FIRST_DUE}
   from webhook_endpoints e
   where endpoint_id = $1 and event_id = $2 and e.id = $1 returning event_id`,
);

/**
 * Makes a delivery due now, with the same event id, even if it has arrived.
 * @throws ApiError `not_found`; `invalid_request` if the endpoint is disabled
 */
export async function sendAgain(
  db: Queryable,
  owner: Owner,
  delivery: { endpointId: string; eventId: string },
): Promise<void> {
  await requireEnabled(db, owner, delivery.endpointId);
  const [row] = await db.query(SEND_AGAIN, [delivery.endpointId, delivery.eventId]);
  if (!row) throw new ApiError('not_found', 'This endpoint has no delivery of this event.');
}

/** Limited, because each test adds a row to the log. */
const TESTS_PER_MINUTE = 10;

const SEND_TEST = statement(
  'webhook_send_test',
  `with ${END_PAUSE}
   insert into webhook_deliveries (event_id, endpoint_id, type, data, due_at)
   select ${NEW_EVENT_ID}, e.id, '${TEST_EVENT}',
     '{"message": "This event was sent to test the endpoint."}', ${FIRST_DUE}
   from webhook_endpoints e where e.id = $1 and (select count(*) from (
       select type, created_at from webhook_deliveries where endpoint_id = $1
       order by id desc limit ${TESTS_PER_MINUTE}) last
     where type = '${TEST_EVENT}' and created_at > clock_now() - interval '1 minute')
     < ${TESTS_PER_MINUTE}
   returning event_id`,
);

/**
 * @returns the id of the test event
 * @throws ApiError `not_found`; `invalid_request` if the endpoint is disabled; `rate_limited`
 */
export async function sendTest(db: Queryable, owner: Owner, endpointId: string): Promise<string> {
  await requireEnabled(db, owner, endpointId);
  const [row] = await db.query<{ event_id: string }>(SEND_TEST, [endpointId]);
  if (row) return row.event_id;
  const message = `An endpoint gets at most ${TESTS_PER_MINUTE} test events in a minute.`;
  const policy = { name: 'test-events', max: TESTS_PER_MINUTE, seconds: 60 };
  throw new ApiError('rate_limited', message, { retryAfterSeconds: 60, policy });
}

async function requireEnabled(db: Queryable, owner: Owner, id: string): Promise<void> {
  const { disabled_at: disabledAt } = await readEndpoint(db, owner, id);
  if (disabledAt === null) return;
  const message = 'This endpoint is disabled. Enable it, then send the event.';
  throw invalidRequest(message, { field: 'id', reason: 'endpoint_disabled' });
}

const BATCH = 1000;

const PURGE = [
  statement(
    'webhook_purge_old',
    `delete from webhook_deliveries where id = any(array(
       select id from webhook_deliveries
       where created_at < (select clock_now() - interval '${LOG_DAYS} days')
       order by created_at limit ${BATCH}))
     returning id`,
  ),
  statement(
    'webhook_purge_deleted',
    `delete from webhook_deliveries where id = any(array(
       select d.id from webhook_endpoints e join webhook_deliveries d on d.endpoint_id = e.id
       where e.deleted_at is not null limit ${BATCH}))
     returning id`,
  ),
];

const PURGE_ENDPOINTS = statement(
  'webhook_purge_endpoints',
  `delete from webhook_endpoints e where e.deleted_at < clock_now() - interval '1 hour'
     and not exists (select from webhook_deliveries d where d.endpoint_id = e.id)`,
);

/** Deletes expired deliveries, and the remains of deleted endpoints. */
export async function purgeDeliveries(db: Queryable): Promise<void> {
  for (const purge of PURGE) {
    for (let rows = BATCH; rows === BATCH; ) rows = (await db.query(purge)).length;
  }
  await db.query(PURGE_ENDPOINTS);
}
