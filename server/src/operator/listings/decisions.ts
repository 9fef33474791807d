import { query } from '../../database/database.ts';
import { TEST_SURFACE } from '../../ledger/transfer.ts';

/** What waits for an operator. */
interface Waiting {
  what: 'held' | 'review' | 'reports' | 'mismatched' | 'disputed' | 'orphans' | 'webhooks';
  count: number;
  /** The one to look at first: an id, of webhooks the owner's. */
  first: string;
}

// Held test tasks are left out: their prompts ask for it. Each part has a partial index, or a table
// with a row for each customer at most.
/** What operators have to decide, without what is zero. A dispute counts while Stripe waits for an answer. */
export const waitingDecisions = query<[], Waiting>(
  'operator_decisions',
  `select what, count(*)::int as count, (array_agg(id order by since))[1] as first from (
     select 'held' as what, id, updated_at as since from tasks
     where phase = 'held' and surface <> '${TEST_SURFACE}'
     union all
     select 'review', id, updated_at from tasks where phase = 'review' and due_at is not null
     union all
     select 'reports', id, created_at from reports where state = 'open'
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
     select 'webhooks', account_id, coalesce(failing_since, disabled_at) from webhook_endpoints
     where deleted_at is null and (failing_since < clock_now() - interval '1 hour'
       or disabled_because in ('gone', 'failing') and disabled_at > clock_now() - interval '7 days')
   ) waiting group by what`,
);
