import type Stripe from 'stripe';
import { command, namedStatement, violatedConstraint, whether } from '../../database/database.ts';
import { ApiError, invalidRequest } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { customerOf, withCustomer } from '../customers.ts';
import { readOffer } from '../offers.ts';
import {
  type BillingDeps,
  createOrRetryWithNewKey,
  isInScope,
  isMissing,
} from '../stripe-client.ts';
import { withPlanPrice } from './plan-prices.ts';
import { settleSubscription } from './settle-subscription.ts';
import { ENDED, type Subscription, subscriptionOf } from './subscription.ts';

const INSERT = namedStatement(
  'subscription_insert',
  `insert into subscriptions (id, account_id, plan_id, stripe_mode, stripe_account)
   values (:id, :accountId, :planId, :mode, :account)`,
);

const recordCheckout = whether<[id: string, session: string, url: string]>(
  'subscription_opened',
  `update subscriptions set stripe_checkout = $2, checkout_url = $3, revision = revision + 1
   where id = $1 and state = 'opening' and (stripe_checkout is null or stripe_checkout = $2)
   returning id`,
);

const expire = command<[id: string]>(
  'subscription_end',
  `update subscriptions set state = 'expired', due_at = null, revision = revision + 1
   where id = $1`,
);

/**
 * Opens a Checkout for a plan. An account has one subscription at a time.
 * @throws ApiError `not_found` if the plan is not sold, `invalid_request` if the account has a
 *   subscription; Stripe's error
 */
export async function subscribe(
  deps: BillingDeps,
  { accountId, planId }: { accountId: string; planId: string },
): Promise<{ subscriptionId: string; url: string }> {
  const plan = await readOffer(deps.db, 'plan', planId);
  if (!plan?.active) throw new ApiError('not_found', 'This plan is not sold any more.');
  const before = await subscriptionOf(deps.db, accountId, deps.scope);
  if (before && !ENDED.includes(before.state)) {
    const open = await reuseOrEnd(deps, before, planId);
    if (open) return open;
  }
  await customerOf(deps, accountId); // first: if this fails, no subscription is left behind
  const id = newId('subscription');
  try {
    await deps.db.query(INSERT, INSERT.values({ id, accountId, planId, ...deps.scope }));
  } catch (error) {
    if (violatedConstraint(error) !== 'subscriptions_one_live_of_mode') throw error;
    throw subscribedAlready(); // at the same time, in another window
  }
  const url = await withCustomer(deps, accountId, (customer) =>
    withPlanPrice(deps, plan, (price) => openCheckout(deps, { id, price, customer })),
  );
  return { subscriptionId: id, url };
}

function subscribedAlready(): ApiError {
  return invalidRequest('You have a subscription. Change its plan instead.', { field: 'plan_id' });
}

/** Reuses an open Checkout for the same plan, or closes it. */
async function reuseOrEnd(deps: BillingDeps, before: Subscription, planId: string) {
  if (before.state !== 'opening') {
    if (await isAtStripe(deps, before)) throw subscribedAlready();
    return undefined;
  }
  const { id, checkout_url: url, stripe_checkout: checkout } = before;
  if (checkout !== null) {
    const session = await deps.stripe.checkout.sessions.retrieve(checkout);
    const isOpen = session.status === 'open';
    if (isOpen && url !== null && before.plan_id === planId) return { subscriptionId: id, url };
    if (isOpen) await deps.stripe.checkout.sessions.expire(checkout);
  }
  const now = await settleSubscription(deps, id, { endsLostCheckout: true });
  if (isInScope(now, deps.scope) && !ENDED.includes(now.state)) throw subscribedAlready();
  return undefined;
}

/** Whether it still runs at Stripe. If Stripe lacks it (deleted test data), it is ended here. */
async function isAtStripe(deps: BillingDeps, { id }: Subscription): Promise<boolean> {
  try {
    const now = await settleSubscription(deps, id);
    return isInScope(now, deps.scope) && !ENDED.includes(now.state);
  } catch (error) {
    if (!isMissing(error)) throw error;
    await expire(deps.db, id);
    return false;
  }
}

async function openCheckout(
  { db, stripe, publicUrl }: BillingDeps,
  subscription: { id: string; price: string; customer: string },
): Promise<string> {
  const { id, price, customer } = subscription;
  const params: Stripe.Checkout.SessionCreateParams = {
    mode: 'subscription',
    customer,
    client_reference_id: id,
    metadata: { subscription: id },
    line_items: [{ quantity: 1, price }],
    subscription_data: { metadata: { subscription: id } },
    success_url: `${publicUrl()}/credits?subscribed=${id}`,
    cancel_url: `${publicUrl()}/credits?canceled=${id}`,
  };
  // A duplicate Checkout does no harm: nobody knows its URL.
  const session = await createOrRetryWithNewKey(`${id}:${customer}:${price}`, (options) =>
    stripe.checkout.sessions.create(params, options),
  );
  if (session.url === null) throw new Error(`Checkout ${session.id} has no address`);
  if (await recordCheckout(db, id, session.id, session.url)) return session.url;
  // Another window gave up on this Checkout: if both were paid, two plans would run.
  await stripe.checkout.sessions.expire(session.id);
  throw subscribedAlready();
}
