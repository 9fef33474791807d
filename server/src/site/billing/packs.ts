import { listOffers, type Offer } from '../../billing/offers.ts';
import { siteRoute } from '../route.ts';
import type { BillingSiteDeps } from './stripe-work.ts';

/** What is sold now; empty where nothing is sold. */
export type OnSale = Awaited<ReturnType<typeof onSale>>;

export async function onSale({ db, billing }: BillingSiteDeps) {
  const listed = (kind: Offer['kind']) =>
    billing ? listOffers(db, kind, { onlyActive: true }) : [];
  const packs = await listed('pack');
  const plans = await listed('plan');
  return {
    // Whether nothing is really paid: Stripe is in test mode, or simulated.
    is_test: billing?.scope.mode === 'test',
    packs: packs.map(soldOf),
    plans: plans.map((plan) => ({ ...soldOf(plan), period: plan.period ?? ('month' as const) })),
  };
}

/** Credits for a price in minor units of the currency. */
function soldOf({ id, name, credits, price, currency, expires_days }: Offer) {
  return { id, name, credits, price, currency, expires_days };
}

export const getPacks = siteRoute('GET /console/api/packs', {
  handle: (deps: BillingSiteDeps) => onSale(deps),
});
