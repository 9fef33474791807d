import { type Queryable, query } from '../../database/database.ts';
import { timeOfId } from '../../kernel/ids.ts';

export interface FoundRow {
  what:
    | 'account'
    | 'task'
    | 'order'
    | 'API key'
    | 'attempt'
    | 'file'
    | 'report'
    | 'share'
    | 'request'
    | 'webhook endpoint'
    | 'webhook event'
    | 'subscription'
    | 'Stripe customer'
    | 'Idempotency-Key';
  id: string;
  account_id: string | null;
  /** null if the account was erased. */
  email: string | null;
  /** Of an attempt, file, report, share, request, event or Idempotency-Key. */
  task_id: string | null;
}

const MAX_FOUND = 20;

/** How long after the id of its request a task is created, at most: the body takes time. */
const REQUEST_MS = 600_000;
const CLOCKS_MS = 60_000;

/** Finds what a text names: it must be the whole id, e-mail address or Idempotency-Key. */
export function findExactly(db: Queryable, text: string): Promise<FoundRow[]> {
  const at = timeOfId('request', text);
  if (at === undefined) return find(db, text, null, null);
  return find(db, text, new Date(at - CLOCKS_MS), new Date(at + REQUEST_MS));
}

// Each part reads an index. Those of Idempotency-Keys and events begin with account and endpoint:
// they are read once per account or endpoint, and Idempotency-Keys are not looked up for an id of
// this service. Tasks have no index by request, but a request's id says when it was made.
const find = query<[text: string, from: Date | null, until: Date | null], FoundRow>(
  'operator_find',
  `select what, found.id, account_id, email, task_id from (
     select 'account' as what, id, id as account_id, null as task_id from accounts where id = $1
     union select 'account', id, id, null from accounts where lower(email) = lower($1)
     union select 'task', id, account_id, id from tasks where id = $1
     union select 'order', id, account_id, null from orders where id = $1
     union select 'order', id, account_id, null from orders where stripe_id = $1
     union select 'order', id, account_id, null from orders where stripe_payment = $1
     union select 'order', o.id, account_id, null from order_payments p
       join orders o on o.id = p.order_id where p.stripe_payment = $1
     union select 'API key', id, account_id, null from api_keys where id = $1
     union select 'attempt', a.id, account_id, t.id from attempts a
       join tasks t on t.id = a.task_id where a.id = $1
     union select 'file', o.id, coalesce(t.account_id, u.account_id), t.id from stored_objects o
       left join tasks t on t.id = o.owner_id left join uploads u on u.object_id = o.id
       where o.id = $1
     union select 'report', r.id, account_id, t.id from reports r
       left join tasks t on t.id = r.task_id where r.id = $1
     union select 'share', id, account_id, task_id from shares where id = $1
     union select 'request', $1, account_id, id from tasks
       where created_at between $2::timestamptz and $3::timestamptz and request_id = $1
     union select 'webhook event', $1, e.account_id, d.task_id from webhook_endpoints e
       cross join lateral (select task_id from webhook_deliveries
         where endpoint_id = e.id and event_id = $1 limit 1) d
       where $1 ~ '^evt_'
     union select 'webhook endpoint', id, account_id, null from webhook_endpoints where id = $1
     union select 'subscription', id, account_id, null from subscriptions where id = $1
     union select 'subscription', id, account_id, null from subscriptions
       where stripe_subscription = $1
     union select 'subscription', id, account_id, null from subscriptions where stripe_checkout = $1
     union select 'Stripe customer', stripe_customer, account_id, null from stripe_customers
       where stripe_customer = $1
     union select 'Idempotency-Key', $1, a.id, k.task_id from accounts a
       cross join unnest(array['api', 'web', 'test']) as surface
       cross join lateral (select task_id from idempotency_keys
         where account_id = a.id and idempotency_keys.surface = surface.surface and key = $1
         limit 1) k
       where $1 !~ '^((task|ord|acct|key|att|obj|we|req|subs|report|share)_[0-9A-Za-z]{24}$|evt_[0-9a-f]{32}$)'
   ) found left join accounts owner on owner.id = account_id and owner.erased_at is null
   limit ${MAX_FOUND}`,
);
