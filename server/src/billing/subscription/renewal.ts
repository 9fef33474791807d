import type Stripe from 'stripe';
import { idOf, type StripeClient } from '../stripe-client.ts';
import { ENDED, type Subscription } from './subscription.ts';

/** In the metadata of a subscription whose renewal was stopped because its account is closed. */
const STOPPED = 'renewal_stopped';

/**
 * Lets a plan follow its account, so that a closed account pays nothing any more. While its owner
 * can still reopen the account, a plan that is paid is only not renewed, and continues if that
 * happens before its period is over. Otherwise it is cancelled. What the customer has cancelled
 * stays as it is. May run any number of times: what was done is kept at Stripe, with the change.
 */
export function followAccount(
  stripe: StripeClient,
  account: Pick<Subscription, 'is_disabled' | 'is_closing' | 'is_closed'>,
  live: Stripe.Subscription,
): Promise<Stripe.Subscription> | Stripe.Subscription {
  if (ENDED.includes(live.status)) return live;
  const isPaid = live.status === 'active' || live.status === 'trialing';
  if (account.is_closed || (account.is_closing && !isPaid)) {
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

/** A change to a cheaper plan that waits for the end of the period is dropped: there is no next. */
async function stopRenewal(
  stripe: StripeClient,
  { id, schedule }: Stripe.Subscription,
): Promise<Stripe.Subscription> {
  const waiting = idOf(schedule);
  if (waiting) await stripe.subscriptionSchedules.release(waiting);
  const metadata = { [STOPPED]: 'the account is closed' };
  return stripe.subscriptions.update(id, { cancel_at_period_end: true, metadata });
}
