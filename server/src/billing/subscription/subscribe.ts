import { statement, violatedConstraint } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { customerOf } from '../customers.ts';
import { type Offer, readOffer } from '../offers.ts';
import type { BillingDeps } from '../stripe-client.ts';
import { planPriceOf } from './plan-prices.ts';
import { settleSubscription } from './settle-subscription.ts';
import { ENDED, type Subscription, subscriptionOf } from './subscription.ts';

const INSERT = statement(
  'subscription_insert',
  'insert into subscriptions (id, account_id, plan_id) values ($1, $2, $3)',
);

const OPENED = statement(
  'subscription_opened',
  `update subscriptions set stripe_checkout = $2, checkout_url = $3, revision = revision + 1
   where id = $1 and state = 'opening' and (stripe_checkout is null or stripe_checkout = $2)
   returning id`,
);

/**
 * Opens a Checkout for a plan. An account has one subscription at a time; another plan is chosen in
 * the Customer Portal.
 * @returns the address of the payment page
 * @throws ApiError `not_found` if the plan is not sold, `invalid_request` if the account has a
 *   subscription; Stripe's error
 */
export async function subscribe(
  deps: BillingDeps,
  { accountId, planId }: { accountId: string; planId: string },
): Promise<{ subscriptionId: string; url: string }> {
  const plan = await readOffer(deps.db, 'plan', planId);
  if (!plan?.active) throw new ApiError('not_found', 'This plan is not sold any more.');
  const before = await subscriptionOf(deps.db, accountId);
  if (before && !ENDED.includes(before.state)) {
    const open = await reuseOrEnd(deps, before, planId);
    if (open) return open;
  }
  const customer = await customerOf(deps, accountId);
  const { stripe_price: price } = await planPriceOf(deps, plan);
  const id = newId('subscription');
  try {
    await deps.db.query(INSERT, [id, accountId, plan.id]);
  } catch (error) {
    if (violatedConstraint(error) !== 'subscriptions_one_live') throw error;
    throw subscribedAlready(); // at the same time, in another window
  }
  return { subscriptionId: id, url: await openCheckout(deps, { id, plan, price, customer }) };
}

function subscribedAlready(): ApiError {
  return new ApiError('invalid_request', 'You have a subscription. Change its plan instead.', {
    details: { field: 'plan_id' },
  });
}

/** A Checkout that was opened and not completed leads to the same plan, or is closed. */
async function reuseOrEnd(deps: BillingDeps, before: Subscription, planId: string) {
  if (before.state !== 'opening') throw subscribedAlready();
  const { id, checkout_url: url, stripe_checkout: checkout } = before;
  if (checkout !== null) {
    const session = await deps.stripe.checkout.sessions.retrieve(checkout);
    const isOpen = session.status === 'open';
    if (isOpen && url !== null && before.plan_id === planId) return { subscriptionId: id, url };
    if (isOpen) await deps.stripe.checkout.sessions.expire(checkout);
  }
  const now = await settleSubscription(deps, id, { endsLostCheckout: true });
  if (!ENDED.includes(now.state)) throw subscribedAlready();
  return undefined;
}

async function openCheckout(
  { db, stripe, publicUrl }: BillingDeps,
  subscription: { id: string; plan: Offer; price: string; customer: string },
): Promise<string> {
  const { id, price, customer } = subscription;
  const session = await stripe.checkout.sessions.create(
    {
      ...{ mode: 'subscription', customer, client_reference_id: id },
      metadata: { subscription: id },
      line_items: [{ quantity: 1, price }],
      subscription_data: { metadata: { subscription: id } },
      success_url: `${publicUrl()}/credits?subscribed=${id}`,
      cancel_url: `${publicUrl()}/credits?canceled=${id}`,
    },
    { idempotencyKey: id },
  );
  if (session.url === null) throw new Error(`Checkout ${session.id} has no address`);
  const opened = await db.query(OPENED, [id, session.id, session.url]);
  if (opened.length > 0) return session.url;
  // Another window has given this Checkout up for lost: if both were paid, two plans would run.
  await stripe.checkout.sessions.expire(session.id);
  throw subscribedAlready();
}
