import { query } from '../../database/database.ts';
import { TEST_SURFACE } from '../../ledger/transfer.ts';
import { URGENT_REASONS } from '../../reports/reports.ts';

/** What waits for an operator. */
export interface WaitingDecision {
  what:
    | 'held'
    | 'review'
    | 'urgent reports'
    | 'reports'
    | 'mismatched'
    | 'disputed'
    | 'orphans'
    | 'webhooks';
  count: number;
  /** The id of the one to look at first. */
  first: string;
  /** Of a webhook endpoint, its owner; otherwise null. */
  account_id: string | null;
  email: string | null;
}

/** How many failing webhook endpoints are listed one by one; the last also counts the rest. */
const ENDPOINTS = 10;

const URGENT = URGENT_REASONS.map((reason) => `'${reason}'`).join();

// Each part reads a partial index, or a table with at most one row per customer.
/**
 * What operators have to decide; zeros are left out. Held test tasks don't count: their prompts ask
 * for it. Urgent reports are counted apart. A mismatched order counts for a week, unless it was
 * refunded; a dispute while Stripe waits for evidence; an endpoint after an hour of failures, and
 * for a week once disabled.
 */
export const waitingDecisions = query<[], WaitingDecision>(
  'operator_decisions',
  `with waiting as (
     select 'held' as what, id, updated_at as since from tasks
     where phase = 'held' and surface <> '${TEST_SURFACE}'
     union all
     select 'review', id, updated_at from tasks where phase = 'review' and due_at is not null
     union all
     select case when reason in (${URGENT}) then 'urgent reports' else 'reports' end,
       id, created_at from reports where state = 'open'
     union all
     select 'mismatched', id, settled_at from orders
     where state = 'mismatched' and settled_at > clock_now() - interval '7 days'
       and (coalesce(amount, 0) = 0 or refunded < amount)
     union all
     select 'disputed', id, created_at from orders
     where dispute in ('needs_response', 'warning_needs_response')
     union all
     select 'orphans', task_id, found_at from orphan_jobs where acknowledged_at is null
     union all
     select 'webhooks', id, coalesce(failing_since, disabled_at) from webhook_endpoints
     where deleted_at is null and (failing_since < clock_now() - interval '1 hour'
       or disabled_because in ('gone', 'failing') and disabled_at > clock_now() - interval '7 days')
   ),
   lines as (
     select what, line, count(*)::int as count, (array_agg(id order by since))[1] as first from (
       select what, id, since, case what when 'webhooks'
         then least(row_number() over (partition by what order by since), ${ENDPOINTS}) end as line
       from waiting) numbered
     group by what, line)
   select what, count, first, account_id, a.email from lines left join webhook_endpoints e on e.id = first
     left join accounts a on a.id = account_id order by line`,
);
