import { listOffers, type Offer } from '../../billing/offers.ts';
import { siteRoute } from '../route.ts';
import type { BillingSiteDeps } from './stripe-work.ts';

/** Credits for a price in minor units of the currency. */
type PackOnSale = Pick<Offer, 'id' | 'name' | 'credits' | 'price' | 'currency' | 'expires_days'>;

interface PlanOnSale extends PackOnSale {
  period: 'month' | 'year';
}

/** What is sold now; empty where nothing is sold. */
export interface OnSale {
  /** Whether nothing is really paid: Stripe is in test mode, or simulated. */
  is_test: boolean;
  packs: PackOnSale[];
  plans: PlanOnSale[];
}

export async function onSale({ db, billing }: BillingSiteDeps): Promise<OnSale> {
  if (!billing) return { is_test: false, packs: [], plans: [] };
  const packs = await listOffers(db, 'pack', { onlyActive: true });
  const plans = await listOffers(db, 'plan', { onlyActive: true });
  return {
    is_test: billing.scope.mode === 'test',
    packs: packs.map(soldOf),
    plans: plans.map((plan) => ({ ...soldOf(plan), period: plan.period ?? 'month' })),
  };
}

function soldOf({ id, name, credits, price, currency, expires_days }: Offer): PackOnSale {
  return { id, name, credits, price, currency, expires_days };
}

export const getPacks = siteRoute({
  method: 'GET',
  url: '/console/api/packs',
  handle: (deps: BillingSiteDeps) => onSale(deps),
});
