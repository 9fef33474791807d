import type Stripe from 'stripe';
import { namedStatement, type Transaction } from '../../database/database.ts';
import { newId } from '../../kernel/ids.ts';
import { insertOrder } from '../credit-order.ts';
import { settleOrder } from '../settle-order.ts';
import {
  type BillingDeps,
  idOf,
  isInScope,
  type OwnScope,
  type StripeClient,
  timeOf,
} from '../stripe-client.ts';
import { LOST_CHECKOUT_SECONDS } from '../truth.ts';
import {
  creditsOfInvoices,
  type InvoiceWithLines,
  type PaidInvoice,
  priceOfLine,
  subscriptionOfInvoice,
} from './invoice-credits.ts';
import { planPrices } from './plan-prices.ts';
import { ENDED, readSubscription, type Subscription } from './subscription.ts';

interface SubscriptionTruth {
  state: string;
  planId: string | null;
  stripeSubscription: string | null;
  renewsAt: Date | null;
  endsAt: Date | null;
  paid: PaidInvoice[];
  /** Whether an invoice may still be paid, even after the subscription has ended. */
  owes: boolean;
}

const NOTHING = {
  planId: null,
  stripeSubscription: null,
  renewsAt: null,
  endsAt: null,
  paid: [],
  owes: false,
};

/**
 * Syncs a subscription with Stripe, and settles an order for each of its paid invoices. A completed
 * Checkout brings no credits.
 * @param options.endsLostCheckout whether a Checkout whose URL was lost counts as expired
 * @throws Error if there is no such subscription; Stripe's error if a request fails
 */
export async function settleSubscription(
  deps: BillingDeps,
  id: string,
  options: { endsLostCheckout?: boolean } = {},
): Promise<Subscription> {
  for (;;) {
    const subscription = await readSubscription(deps.db, id);
    if (!subscription) throw new Error(`there is no subscription ${id}`);
    if (!isInScope(subscription, deps.scope)) return subscription;
    const truth = await readTruth(deps, subscription, options);
    const orders = await deps.db.transaction((tx) => save(tx, deps.scope, subscription, truth));
    if (!orders) continue; // changed meanwhile: the response may be stale
    for (const id of orders) await settleOrder(deps, id);
    return (await readSubscription(deps.db, id)) ?? subscription;
  }
}

async function readTruth(
  deps: BillingDeps,
  subscription: Subscription,
  { endsLostCheckout = false }: { endsLostCheckout?: boolean },
): Promise<SubscriptionTruth> {
  const { stripe } = deps;
  const { stripe_checkout: checkout, stripe_subscription: known, age_seconds: age } = subscription;
  if (checkout === null && known === null) {
    const isOver = endsLostCheckout || age > LOST_CHECKOUT_SECONDS;
    return { ...NOTHING, state: isOver ? 'expired' : 'opening' };
  }
  const idOrState = known ?? (await subscriptionOfCheckout(stripe, checkout ?? ''));
  if (idOrState === 'open' || idOrState === 'expired') {
    if (idOrState === 'open' && subscription.is_disabled)
      await stripe.checkout.sessions.expire(checkout ?? '');
    return { ...NOTHING, state: idOrState === 'open' ? 'opening' : 'expired' };
  }
  const found = await stripe.subscriptions.retrieve(idOrState);
  const live = await followAccount(stripe, subscription, found);
  return truthOfLive(deps, live, subscription.plan_id);
}

/** Metadata key of a subscription whose renewal was stopped because its account is closed. */
const STOPPED = 'renewal_stopped';

/**
 * Adapts a plan to its account, so that a closed account pays nothing more. While the owner can
 * still reopen the account, a paid plan only stops renewing; otherwise it is cancelled. A
 * customer's own cancellation stays. Idempotent: a mark at Stripe, {@link STOPPED}, shows our own.
 */
function followAccount(
  stripe: StripeClient,
  account: Pick<Subscription, 'is_disabled' | 'is_closing' | 'is_deleted'>,
  live: Stripe.Subscription,
): Promise<Stripe.Subscription> | Stripe.Subscription {
  if (ENDED.includes(live.status)) return live;
  const isPaid = live.status === 'active' || live.status === 'trialing';
  if (account.is_deleted || (account.is_closing && !isPaid)) {
    return stripe.subscriptions.cancel(live.id);
  }
  const ends = live.cancel_at_period_end || live.cancel_at !== null;
  if (account.is_closing && !ends) return stopRenewal(stripe, live);
  const isStopped = STOPPED in live.metadata;
  if (account.is_disabled || !isStopped) return live;
  const cancel_at_period_end = false;
  const metadata = { [STOPPED]: '' };
  return stripe.subscriptions.update(live.id, { cancel_at_period_end, metadata });
}

/** Drops a downgrade that waits for the end of the period: there is no next period. */
async function stopRenewal(
  stripe: StripeClient,
  { id, schedule }: Stripe.Subscription,
): Promise<Stripe.Subscription> {
  const waiting = idOf(schedule);
  if (waiting) await stripe.subscriptionSchedules.release(waiting);
  const metadata = { [STOPPED]: 'the account is closed' };
  return stripe.subscriptions.update(id, { cancel_at_period_end: true, metadata });
}

/** @returns the id of the subscription, or the state of a Checkout that has none */
async function subscriptionOfCheckout(
  stripe: BillingDeps['stripe'],
  checkout: string,
): Promise<string> {
  const session = await stripe.checkout.sessions.retrieve(checkout);
  if (session.status === 'expired') return 'expired';
  return idOf(session.subscription) ?? 'open';
}

async function truthOfLive(
  { db, stripe }: BillingDeps,
  live: Stripe.Subscription,
  planBefore: string,
): Promise<SubscriptionTruth> {
  const [item] = live.items.data;
  const customer = idOf(live.customer) ?? '';
  const invoices: InvoiceWithLines[] = [];
  let owes = false;
  for await (const invoice of stripe.invoices.list({ customer, limit: 100 })) {
    if (invoice.status === 'void') continue;
    if (invoice.status !== 'draft')
      invoices.push({ ...invoice, lines: await linesOf(stripe, invoice) });
    // An invoice that was written off may still be paid.
    owes ||= invoice.status !== 'paid' && subscriptionOfInvoice(invoice) === live.id;
  }
  const lines = invoices.flatMap((invoice) => invoice.lines.map(priceOfLine));
  const prices = await planPrices(db, [...lines, item?.price.id ?? '']);
  const planId = prices.get(item?.price.id ?? '')?.plan_id ?? null;
  const renewsAt = timeOf(item?.current_period_end);
  const endsAt = timeOf(live.cancel_at) ?? (live.cancel_at_period_end ? renewsAt : null);
  return {
    state: live.status,
    stripeSubscription: live.id,
    renewsAt,
    planId,
    owes,
    endsAt: timeOf(live.ended_at) ?? endsAt,
    paid: creditsOfInvoices(invoices, {
      stripeSubscription: live.id,
      prices,
      currentPlan: planId ?? planBefore,
    }),
  };
}

/** An invoice comes with only its first ten lines. */
async function linesOf(
  stripe: BillingDeps['stripe'],
  { id, lines }: Stripe.Invoice,
): Promise<Stripe.InvoiceLineItem[]> {
  if (!lines.has_more) return lines.data;
  return Array.fromAsync(stripe.invoices.listLineItems(id, { limit: 100 }));
}

// An ended subscription is polled while an invoice of it may be paid, with growing pauses.
const CHANGE = namedStatement(
  'subscription_change',
  `update subscriptions set revision = revision + 1, settled_at = clock_now(), state = :state,
     plan_id = coalesce(:planId, plan_id), ends_at = :endsAt::timestamptz,
     stripe_account = coalesce(stripe_account, :account),
     stripe_subscription = coalesce(:stripe, stripe_subscription),
     renews_at = :renewsAt::timestamptz,
     due_at = case when :isEnded::boolean and not :owes::boolean then null
       when :isEnded::boolean
         then clock_now() + least(greatest(clock_now() - :endsAt::timestamptz, interval '1 hour'),
           interval '7 days')
       when :stripe::text is null
         then clock_now() + least(greatest(clock_now() - created_at, interval '1 minute'),
           interval '1 hour')
       when :renewsAt::timestamptz > clock_now()
         then least(:renewsAt::timestamptz + interval '5 minutes', clock_now() + interval '1 day')
       else clock_now() + interval '1 hour' end
   where id = :id and revision = :revision returning id`,
);

/** @returns the new orders; undefined if the subscription changed meanwhile */
async function save(
  tx: Transaction,
  scope: OwnScope,
  before: Subscription,
  truth: SubscriptionTruth,
): Promise<string[] | undefined> {
  const { id, revision, account_id: accountId } = before;
  const { state, planId, renewsAt, endsAt, owes, stripeSubscription: stripe } = truth;
  const isEnded = ENDED.includes(state);
  const { account } = scope;
  const values = { id, revision, account, state, planId, stripe, renewsAt, endsAt, isEnded, owes };
  if ((await tx.query(CHANGE, CHANGE.values(values))).length === 0) return undefined;
  const made: string[] = [];
  for (const { invoice: stripeId, planId, expiresDays, failure, ...terms } of truth.paid) {
    const order = newId('order');
    const offer = { id: planId, expires_days: expiresDays, ...terms };
    const invoice = { subscriptionId: id, stripeId, failure };
    const kind = 'invoice' as const;
    if (await insertOrder(tx, { id: order, accountId, kind, offer, invoice, scope }))
      made.push(order);
  }
  return made;
}
