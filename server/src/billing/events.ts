import type Stripe from 'stripe';
import { type Database, namedStatement, statement } from '../database/database.ts';
import type { Log } from '../kernel/log.ts';
import { idOf, type StripeClient } from './stripe-client.ts';

const NOTE = statement(
  'event_note',
  'insert into stripe_events (id, type) values ($1, $2) on conflict do nothing returning id',
);

// An order whose Checkout was opened, but not answered, learns its session here.
const WAKE_ORDERS = namedStatement(
  'event_wake_orders',
  ['order', 'object', 'payment', 'session'],
  `update orders set due_at = clock_now(), revision = revision + 1,
     stripe_id = coalesce(stripe_id, :session)
   where id = :order or stripe_id = :object or stripe_payment = :payment
     or id = any(array(select order_id from order_payments where stripe_payment = :payment))`,
);

const WAKE_SUBSCRIPTIONS = namedStatement(
  'event_wake_subscriptions',
  ['id', 'stripe', 'session'],
  `update subscriptions set due_at = clock_now(), revision = revision + 1,
     stripe_checkout = coalesce(stripe_checkout, :session)
   where id = :id or stripe_subscription = :stripe or stripe_checkout = :session`,
);

/**
 * Notes an event of Stripe, and wakes what it is about. Its content is not used: the order or the
 * subscription asks Stripe. The same event does nothing the second time.
 * @returns false if it was noted before
 */
export function noteEvent(db: Database, event: Stripe.Event): Promise<boolean> {
  return db.transaction(async (tx) => {
    if ((await tx.query(NOTE, [event.id, event.type])).length === 0) return false;
    const about = subjectOf(event);
    const order = WAKE_ORDERS.values(about.order);
    if (order.some((value) => value !== null)) await tx.query(WAKE_ORDERS, order);
    const subscription = WAKE_SUBSCRIPTIONS.values(about.subscription);
    if (subscription.some((value) => value !== null)) {
      await tx.query(WAKE_SUBSCRIPTIONS, subscription);
    }
    return true;
  });
}

const NO_ORDER = { order: null, object: null, payment: null, session: null };
const NO_SUBSCRIPTION = { id: null, stripe: null, session: null };

type Ids<Names> = { [Name in keyof Names]: string | null };

interface Subject {
  order: Ids<typeof NO_ORDER>;
  subscription: Ids<typeof NO_SUBSCRIPTION>;
}

/** The ids by which orders and subscriptions are found. */
function subjectOf(event: Stripe.Event): Subject {
  const nothing = { order: NO_ORDER, subscription: NO_SUBSCRIPTION };
  switch (event.type) {
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded':
    case 'checkout.session.async_payment_failed':
    case 'checkout.session.expired': {
      const { id: session, metadata } = event.data.object;
      const order = metadata?.order ?? null;
      const id = metadata?.subscription ?? null;
      if (id !== null) return { ...nothing, subscription: { ...NO_SUBSCRIPTION, id, session } };
      return { ...nothing, order: { ...NO_ORDER, order, object: session, session } };
    }
    case 'payment_intent.succeeded':
    case 'payment_intent.payment_failed':
    case 'payment_intent.canceled': {
      const { id: payment, metadata } = event.data.object;
      return { ...nothing, order: { ...NO_ORDER, order: metadata.order ?? null, payment } };
    }
    case 'charge.refunded':
    case 'refund.created':
    case 'refund.updated':
    case 'refund.failed':
    case 'charge.dispute.created':
    case 'charge.dispute.updated':
    case 'charge.dispute.funds_withdrawn':
    case 'charge.dispute.funds_reinstated':
    case 'charge.dispute.closed': {
      const payment = idOf(event.data.object.payment_intent);
      return { ...nothing, order: { ...NO_ORDER, payment } };
    }
    case 'invoice.paid':
    case 'invoice.payment_failed': {
      const { id, stripe } = subscriptionOf(event.data.object);
      return { ...nothing, subscription: { ...NO_SUBSCRIPTION, id, stripe } };
    }
    case 'customer.subscription.created':
    case 'customer.subscription.updated':
    case 'customer.subscription.deleted': {
      const { id: stripe, metadata } = event.data.object;
      const id = metadata.subscription ?? null;
      return { ...nothing, subscription: { ...NO_SUBSCRIPTION, id, stripe } };
    }
    default:
      return nothing;
  }
}

/** An invoice in an event, of any API version. */
interface InvoiceOfEvent {
  parent?: Pick<Stripe.Invoice.Parent, 'subscription_details'> | null;
  /** In versions before 2025-03-31, which have no `parent`. */
  subscription?: string | { id: string } | null;
  subscription_details?: { metadata?: Stripe.Metadata | null } | null;
}

/** Our id of an invoice's subscription, and that of Stripe. */
function subscriptionOf(invoice: InvoiceOfEvent): Pick<Subject['subscription'], 'id' | 'stripe'> {
  const now = invoice.parent?.subscription_details;
  const metadata = now?.metadata ?? invoice.subscription_details?.metadata;
  return {
    id: metadata?.subscription ?? null,
    stripe: idOf(now?.subscription ?? invoice.subscription),
  };
}

/**
 * Says once for each version, in each process, that the webhook endpoint has another API version
 * than this program: what is read of its events may be elsewhere in them.
 */
export function versionWatch({ log, stripe }: { log: Log; stripe: StripeClient }) {
  const expected = String(stripe.getApiField('version'));
  const told = new Set([expected]);
  return ({ api_version: version }: Stripe.Event): void => {
    if (!version || told.has(version)) return;
    told.add(version);
    log.warn({ version, expected }, 'the webhook endpoint at Stripe has another API version');
  };
}
