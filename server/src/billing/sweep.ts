import type Stripe from 'stripe';
import { type Database, queryValue, type Statement, statement } from '../database/database.ts';
import { startInterval } from '../kernel/interval.ts';
import { mailBalances, reloadBalances, type WatchDeps } from './low-balance/watch.ts';
import { lookUpPayment } from './payment-lookups.ts';
import { settleOrder } from './settle-order.ts';
import { type BillingDeps, idOf, inScope, isMissing } from './stripe-client.ts';
import { settleSubscription } from './subscription/settle-subscription.ts';

const RECORD = statement(
  'event_note',
  'insert into stripe_events (id, type) values ($1, $2) on conflict do nothing returning id',
);

// If Stripe's response to opening the Checkout was lost, the order learns its session here.
const WAKE = {
  order: statement(
    'event_wake_order',
    `update orders set due_at = clock_now(), revision = revision + 1,
       stripe_id = coalesce(stripe_id, $2)
     where id = $1 or stripe_id = $2 or stripe_payment = $3
       or id = any(array(select order_id from order_payments where stripe_payment = $3))`,
  ),
  subscription: statement(
    'event_wake_subscription',
    `update subscriptions set due_at = clock_now(), revision = revision + 1,
       stripe_checkout = coalesce(stripe_checkout, $2)
     where id = $1 or stripe_checkout = $2 or stripe_subscription = $3`,
  ),
};

/**
 * Records a Stripe event, and makes its order or subscription due. Only its ids are used: settling
 * reads Stripe.
 * @returns false if it was recorded before
 */
export function recordStripeEvent(db: Database, event: Stripe.Event): Promise<boolean> {
  return db.transaction(async (tx) => {
    if ((await tx.query(RECORD, [event.id, event.type])).length === 0) return false;
    const subject = subjectOf(event);
    if (!subject) return true;
    const { kind, id = null, session = null, stripe = null } = subject;
    await tx.query(WAKE[kind], [id, session, stripe]);
    return true;
  });
}

/** When Stripe's newest event came; undefined: none has come yet. */
export const latestStripeEvent = queryValue<[], Date | undefined>(
  'event_latest',
  'select received_at from stripe_events order by received_at desc limit 1',
  undefined,
);

/** The events that an endpoint at Stripe has to send: those with a subject. */
export const STRIPE_EVENTS: readonly Stripe.Event.Type[] = [
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'checkout.session.expired',
  'payment_intent.succeeded',
  'payment_intent.payment_failed',
  'payment_intent.canceled',
  'charge.refunded',
  'refund.created',
  'refund.updated',
  'refund.failed',
  'charge.dispute.created',
  'charge.dispute.updated',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.funds_reinstated',
  'charge.dispute.closed',
  'invoice.paid',
  'invoice.payment_failed',
  'customer.subscription.created',
  'customer.subscription.updated',
  'customer.subscription.deleted',
];

interface Subject {
  kind: keyof typeof WAKE;
  id?: string | null | undefined;
  session?: string;
  /** The payment of an order, or Stripe's id of a subscription. */
  stripe?: string | null;
}

/** @returns undefined for events that don't matter */
function subjectOf(event: Stripe.Event): Subject | undefined {
  switch (event.type) {
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded':
    case 'checkout.session.async_payment_failed':
    case 'checkout.session.expired': {
      const { id: session, metadata } = event.data.object;
      const { subscription: id, order } = metadata ?? {};
      return id ? { kind: 'subscription', id, session } : { kind: 'order', id: order, session };
    }
    case 'payment_intent.succeeded':
    case 'payment_intent.payment_failed':
    case 'payment_intent.canceled': {
      const { id: stripe, metadata } = event.data.object;
      return { kind: 'order', id: metadata.order, stripe };
    }
    case 'charge.refunded':
    case 'refund.created':
    case 'refund.updated':
    case 'refund.failed':
    case 'charge.dispute.created':
    case 'charge.dispute.updated':
    case 'charge.dispute.funds_withdrawn':
    case 'charge.dispute.funds_reinstated':
    case 'charge.dispute.closed':
      return { kind: 'order', stripe: idOf(event.data.object.payment_intent) };
    case 'invoice.paid':
    case 'invoice.payment_failed':
      return subscriptionOf(event.data.object);
    case 'customer.subscription.created':
    case 'customer.subscription.updated':
    case 'customer.subscription.deleted': {
      const { id: stripe, metadata } = event.data.object;
      return { kind: 'subscription', id: metadata.subscription, stripe };
    }
    default:
      return undefined;
  }
}

/** An invoice in an event, of any API version. */
interface InvoiceOfEvent {
  parent?: Pick<Stripe.Invoice.Parent, 'subscription_details'> | null;
  /** In versions before 2025-03-31, which have no `parent`. */
  subscription?: string | { id: string } | null;
  subscription_details?: { metadata?: Stripe.Metadata | null } | null;
}

function subscriptionOf(invoice: InvoiceOfEvent): Subject {
  const now = invoice.parent?.subscription_details;
  const { subscription: id } = now?.metadata ?? invoice.subscription_details?.metadata ?? {};
  return { kind: 'subscription', id, stripe: idOf(now?.subscription ?? invoice.subscription) };
}

const BATCH = 8;

/** A kind of due rows: the statement that claims some of them, and what settles one. */
interface Work {
  claim: Statement;
  values(deps: BillingDeps): unknown[];
  /**
   * For objects that this Stripe key can't find, such as deleted test data. They are tried daily
   * until they are 180 days old, since another key may find them.
   */
  postpone?: Statement;
  settle(deps: BillingDeps, id: string): Promise<unknown>;
}

// A claim postpones its rows, so that only one process settles each.
function dueIn(table: 'orders' | 'subscriptions', settle: Work['settle']): Work {
  return {
    claim: statement(
      `${table}_claim`,
      `update ${table} set due_at = clock_now() + interval '2 minutes'
       where id = any(array(select id from ${table} where due_at <= (select clock_now())
         and ${inScope(table, '$1', '$2')}
         order by due_at limit ${BATCH} for update skip locked)) returning id`,
    ),
    values: ({ scope: { mode, account } }) => [mode, account],
    postpone: statement(
      `${table}_postpone`,
      `update ${table} set due_at = case when created_at > clock_now() - interval '180 days'
         then clock_now() + interval '1 day' end where id = $1`,
    ),
    settle,
  };
}

const CLAIM_LOOKUPS = statement(
  'payment_lookup_claim',
  `update payment_lookups set due_at = clock_now() + interval '2 minutes'
   where stripe_id = any(array(select stripe_id from payment_lookups
     where due_at <= (select clock_now()) order by due_at limit ${BATCH} for update skip locked))
   returning stripe_id as id`,
);

const WORK: readonly Work[] = [
  dueIn('subscriptions', settleSubscription),
  dueIn('orders', settleOrder),
  { claim: CLAIM_LOOKUPS, values: () => [], settle: lookUpPayment },
];

/**
 * Settles what is due: an event or an operator asked for it, or it is time to poll, because events
 * may get lost. Safe in several processes. What fails is due again after two minutes.
 * @returns how many were settled
 */
export async function settleDue(deps: BillingDeps): Promise<number> {
  let settled = 0;
  for (const work of WORK) settled += await settleAll(deps, work);
  return settled;
}

async function settleAll(deps: BillingDeps, work: Work): Promise<number> {
  for (let settled = 0; ; ) {
    const rows = await deps.db.query<{ id: string }>(work.claim, work.values(deps));
    const done = await Promise.all(rows.map(({ id }) => trySettle(deps, work, id)));
    settled += done.filter(Boolean).length;
    if (rows.length < BATCH) return settled;
  }
}

async function trySettle(deps: BillingDeps, { settle, postpone }: Work, id: string) {
  try {
    await settle(deps, id);
    return true;
  } catch (err) {
    if (postpone && isMissing(err)) await deps.db.query(postpone, [id]);
    deps.log.warn({ err, id }, 'an order, subscription or payment could not be settled');
    return false;
  }
}

/** Events that Stripe no longer resends, and look-ups that are a month old. */
const PURGE = [
  statement(
    'event_forget',
    `delete from stripe_events where id = any(array(select id from stripe_events
       where received_at < (select clock_now()) - interval '30 days' limit 1000))`,
  ),
  statement(
    'payment_lookup_forget',
    `delete from payment_lookups where asked_at < (select clock_now()) - interval '30 days'`,
  ),
];

const SETTLE_SECONDS = 2;
const WATCH_SECONDS = 10;
const PURGE_SECONDS = 3600;

/** Runs billing's periodic jobs in a worker, until the signal aborts. */
export function startBillingJobs(deps: WatchDeps & { signal: AbortSignal }): void {
  const { db, billing, log, signal } = deps;
  const every = (seconds: number, name: string, work: () => Promise<unknown>) =>
    startInterval(seconds, { name, log, signal }, work);
  every(WATCH_SECONDS, 'mails of low balances', () => mailBalances(deps));
  if (!billing) return;
  // Separate, so that mails don't wait for Stripe.
  every(WATCH_SECONDS, 'auto-reload', () => reloadBalances(deps, billing));
  every(SETTLE_SECONDS, 'orders', () => settleDue(billing));
  every(PURGE_SECONDS, 'events of Stripe', async () => {
    for (const purge of PURGE) await db.query(purge);
  });
}
