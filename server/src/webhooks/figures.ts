import { query } from '../database/database.ts';

/** Endpoints in one state, and what waits for them. */
export interface WebhookFigures {
  /** `failing`: every delivery failed lately. */
  state: 'sound' | 'failing' | 'disabled';
  endpoints: number;
  deliveries: number;
  /** Seconds since the delivery that waits the longest became due. */
  oldest_seconds: number;
}

/** States without an endpoint are missing. */
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
