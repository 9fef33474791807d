import { Type } from 'typebox';
import { openPortal } from '../../billing/subscription/portal.ts';
import { settleSubscription } from '../../billing/subscription/settle-subscription.ts';
import { subscribe } from '../../billing/subscription/subscribe.ts';
import { type Subscription, subscriptionOf } from '../../billing/subscription/subscription.ts';
import { type AsJson, siteRoute } from '../route.ts';
import { type BillingSiteDeps, withStripe } from './stripe-work.ts';

/** The limit of each route that calls Stripe, whose own rate limit all accounts share. */
const CHANGES = { max: 20, seconds: 60 };

export type SubscriptionShown = NonNullable<AsJson<ReturnType<typeof shown>>>;

function shown(subscription: Subscription | undefined) {
  if (!subscription) return null;
  const { plan_id, plan_name, state, renews_at, ends_at } = subscription;
  return { plan_id, plan_name, state, renews_at, ends_at };
}

export const SUBSCRIPTION_ROUTES = [
  siteRoute('GET /console/api/subscription', {
    handle: async ({ db, billing }: BillingSiteDeps, { session: { accountId } }) => ({
      subscription: shown(await subscriptionOf(db, accountId, billing?.scope)),
    }),
  }),
  siteRoute('POST /console/api/subscription', {
    rate: CHANGES,
    body: Type.Object({ plan_id: Type.String({ maxLength: 40 }) }),
    handle: async (deps: BillingSiteDeps, { body, session: { accountId } }) => {
      const wanted = { accountId, planId: body.plan_id };
      const { url } = await withStripe(deps, (billing) => subscribe(billing, wanted));
      return { url };
    },
  }),
  /** Asks Stripe about the subscription, for the return page. */
  siteRoute('POST /console/api/subscription/settle', {
    rate: CHANGES,
    handle: async (deps: BillingSiteDeps, { session: { accountId } }) => {
      const found = await subscriptionOf(deps.db, accountId, deps.billing?.scope);
      if (!found) return { subscription: null };
      const settled = await withStripe(deps, (billing) => settleSubscription(billing, found.id));
      return { subscription: shown(settled) };
    },
  }),
  /** Opens the Customer Portal. Upgrades chosen there are charged to the saved card. */
  siteRoute('POST /console/api/portal', {
    rate: CHANGES,
    proof: 'plan',
    handle: async (deps: BillingSiteDeps, { session: { accountId } }) => {
      return { url: await withStripe(deps, (billing) => openPortal(billing, accountId)) };
    },
  }),
];
