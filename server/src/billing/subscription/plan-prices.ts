import { hash } from 'node:crypto';
import { namedStatement, type Queryable, statement } from '../../database/database.ts';
import { listOffers, type Offer } from '../offers.ts';
import { idOf, type StripeClient } from '../stripe-client.ts';

/** What a subscription with this price at Stripe gets for each period that is paid. */
export interface PlanPrice {
  stripe_price: string;
  stripe_product: string;
  plan_id: string;
  credits: number;
  price: number;
  currency: string;
  period: 'month' | 'year';
  expires_days: number | null;
}

const COLUMNS =
  'stripe_price, stripe_product, plan_id, credits, price, currency, period, expires_days' as const;

const OF_PLAN = statement(
  'plan_prices_of_plan',
  `select ${COLUMNS} from plan_prices where plan_id = $1`,
);

const INSERT = namedStatement(
  'plan_price_insert',
  ['price', 'product', 'planId', 'credits', 'amount', 'currency', 'period', 'expiresDays'],
  `insert into plan_prices (${COLUMNS})
   values (:price, :product, :planId, :credits, :amount, :currency, :period, :expiresDays)
   on conflict (stripe_price) do nothing`,
);

/** The price at Stripe that has the terms of a plan. It is created there if there is none. */
export async function planPriceOf(
  { db, stripe }: { db: Queryable; stripe: StripeClient },
  plan: Offer,
): Promise<PlanPrice> {
  const known = await db.query<PlanPrice>(OF_PLAN, [plan.id]);
  const terms = termsOf(plan);
  const same = known.find((price) => termsOf({ ...price, id: price.plan_id }) === terms);
  if (same) return same;
  const period = plan.period ?? 'month';
  const created = await stripe.prices.create(
    {
      ...{ currency: plan.currency, unit_amount: plan.price, recurring: { interval: period } },
      product_data: { name: `${plan.name}: ${plan.credits} credits a ${period}` },
      metadata: { plan: plan.id },
    },
    { idempotencyKey: `price:${digest(terms + plan.name)}` },
  );
  const { credits, price: amount, currency, expires_days: expiresDays } = plan;
  const product = idOf(created.product) ?? '';
  const values = { price: created.id, product, planId: plan.id, period };
  await db.query(INSERT, INSERT.values({ ...values, credits, amount, currency, expiresDays }));
  return {
    ...{ stripe_price: created.id, stripe_product: product, plan_id: plan.id, credits },
    ...{ price: amount, currency, period, expires_days: expiresDays },
  };
}

function termsOf(plan: Omit<Offer, 'kind' | 'name' | 'active'>): string {
  const { id, credits, price, currency, period, expires_days: days } = plan;
  return JSON.stringify([id, credits, price, currency, period, days]);
}

export function digest(text: string): string {
  return hash('sha256', text);
}

const BY_PRICE = statement(
  'plan_prices_by_price',
  `select ${COLUMNS} from plan_prices where stripe_price = any($1)`,
);

/** The terms behind prices at Stripe, without those that no plan has. */
export async function planPrices(
  db: Queryable,
  stripePrices: string[],
): Promise<Map<string, PlanPrice>> {
  const rows = await db.query<PlanPrice>(BY_PRICE, [stripePrices]);
  return new Map(rows.map((row) => [row.stripe_price, row]));
}

/** The prices of all plans that are sold now. */
export async function pricesOfSale(deps: {
  db: Queryable;
  stripe: StripeClient;
}): Promise<PlanPrice[]> {
  const prices: PlanPrice[] = [];
  for (const plan of await listOffers(deps.db, 'plan', { onlyActive: true })) {
    prices.push(await planPriceOf(deps, plan));
  }
  return prices;
}
