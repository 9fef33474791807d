// The room webhooks/: endpoints of customers, events written by the statement that causes them, and
// deliveries, which a process sends while it leases the endpoint (decisions/0047).

import { namedStatement, type Queryable } from '../database/database.ts';
import { jsonText } from '../database/json-text.ts';

export const EVENT_TYPES = ['task.completed', 'task.failed', 'task.held', 'credits.low'] as const;
export type EventType = (typeof EVENT_TYPES)[number];

const TASK = 'task.';
export const TASK_EVENT_TYPES = EVENT_TYPES.filter((type) => type.startsWith(TASK));
/** SQL: the phases in which a task writes an event, which is named after the phase. */
const EVENT_PHASES = TASK_EVENT_TYPES.map((type) => `'${type.slice(TASK.length)}'`).join(', ');

/** The event that an owner sends to test an endpoint. Endpoints can't choose it. */
export const TEST_EVENT = 'webhook.test';

/** SQL: the mode of the endpoints that get a task's events. Website tasks send none. */
const MODE_OF_SURFACE = `case surface when 'api' then 'live' when 'test' then 'test' end`;

/** SQL: when an event is first due at the endpoint `e`; null without a URL: it is only logged. */
export const FIRST_DUE = `case when e.url is not null then clock_now() end`;

export const NEW_EVENT_ID = `'evt_' || replace(gen_random_uuid()::text, '-', '')`;

/**
 * The outbox: CTEs for the statement that moves tasks, after its CTE `moved` (id, account_id,
 * surface, phase). They write the events of tasks that ended or were held, for each endpoint that
 * chose them, so an event is committed with its cause.
 */
export const EVENTS_OF_MOVED = `chosen as materialized (
     select id, account_id, '${TASK}' || phase as type, ${MODE_OF_SURFACE} as mode,
       ${NEW_EVENT_ID} as event_id
     from moved where phase in (${EVENT_PHASES})),
   events as (
     insert into webhook_deliveries (event_id, endpoint_id, type, task_id, due_at)
     select chosen.event_id, e.id, chosen.type, chosen.id, ${FIRST_DUE}
     from chosen join webhook_endpoints e on e.account_id = chosen.account_id
       and e.mode = chosen.mode and chosen.type = any(e.events)
       and e.disabled_at is null and e.deleted_at is null)`;

const RECORD = namedStatement(
  'webhook_record',
  `with event as materialized (select ${NEW_EVENT_ID} as id)
   insert into webhook_deliveries (event_id, endpoint_id, type, data, due_at)
   select event.id, e.id, :type, :data, ${FIRST_DUE}
   from event, webhook_endpoints e
   where e.account_id = :accountId and e.mode = 'live' and :type = any(e.events)
     and e.disabled_at is null and e.deleted_at is null`,
);

/** Writes an event without a task, for each endpoint of the account that chose it. */
export async function recordEvent(
  tx: Queryable,
  event: { accountId: string; type: EventType; data: object },
): Promise<void> {
  const { accountId, type, data } = event;
  await tx.query(RECORD, RECORD.values({ accountId, type, data: jsonText(data) }));
}
