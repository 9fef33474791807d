import { hash } from 'node:crypto';
import type Stripe from 'stripe';
import { command, namedStatement, type Queryable, query } from '../../database/database.ts';
import { type Offer, offersOnSale } from '../offers.ts';
import {
  type BillingDeps,
  createOrRetryWithNewKey,
  expanded,
  idOf,
  ifThere,
  inScope,
  isRefused,
  knownAccountFirst,
  type StripeClient,
  type StripeMode,
} from '../stripe-client.ts';

/** The credits that a subscription at this Stripe price gets per paid period. */
export interface PlanPrice extends Pick<Offer, 'credits' | 'price' | 'currency' | 'expires_days'> {
  stripe_price: string;
  stripe_product: string;
  plan_id: string;
  period: NonNullable<Offer['period']>;
}

const COLUMNS =
  'stripe_price, stripe_product, plan_id, credits, price, currency, period, expires_days' as const;

const pricesOf = query<
  [planId: string, StripeMode, account: string | null],
  PlanPrice & { is_gone: boolean }
>(
  'plan_prices_of_plan',
  `select ${COLUMNS}, gone_at is not null as is_gone from plan_prices
   where plan_id = $1 and ${inScope('plan_prices', '$2', '$3')}
   order by ${knownAccountFirst('plan_prices')}, stripe_price`,
);

const INSERT = namedStatement(
  'plan_price_insert',
  `insert into plan_prices (${COLUMNS}, stripe_mode, stripe_account)
   values (:stripe_price, :stripe_product, :plan_id, :credits, :price, :currency, :period,
     :expires_days, :mode, :account)
   on conflict (stripe_price) do nothing`,
);

export type PriceDeps = Pick<BillingDeps, 'db' | 'stripe' | 'scope' | 'log'>;

/**
 * Runs `work` with a plan's Stripe price. If Stripe refuses because the price was archived or
 * belongs to another account, retries with a new one.
 */
export async function withPlanPrice<Result>(
  deps: PriceDeps,
  plan: Offer,
  work: (priceId: string) => Promise<Result>,
): Promise<Result> {
  const { stripe_price: priceId } = await planPriceOf(deps, plan);
  try {
    return await work(priceId);
  } catch (error) {
    if (!isRefused(error) || !(await retireIfArchived(deps, priceId))) throw error;
    return work((await planPriceOf(deps, plan)).stripe_price);
  }
}

export async function planPriceOf(
  { db, stripe, scope }: PriceDeps,
  plan: Offer,
): Promise<PlanPrice> {
  const { mode, account } = scope;
  const known = await pricesOf(db, plan.id, mode, account);
  const terms = termsOf(plan);
  const same = known.filter((price) => termsOf({ ...price, id: price.plan_id }) === terms);
  const usable = same.find(({ is_gone }) => !is_gone);
  if (usable) return usable;
  // Stripe may still replay an archived price's response under the previous key.
  const gone = same.map(({ stripe_price }) => stripe_price).join();
  const key = `price:${digest(terms + plan.name + gone)}`;
  const created = await createPrice(stripe, plan, key);
  const ids = { stripe_price: created.id, stripe_product: idOf(created.product) ?? '' };
  const made: PlanPrice = { ...plan, ...ids, plan_id: plan.id, period: plan.period ?? 'month' };
  await db.query(INSERT, INSERT.values({ ...made, mode, account }));
  return made;
}

function createPrice(stripe: StripeClient, plan: Offer, key: string): Promise<Stripe.Price> {
  const interval = plan.period ?? 'month';
  const params = {
    currency: plan.currency,
    unit_amount: plan.price,
    recurring: { interval },
    product_data: { name: `${plan.name}: ${plan.credits} credits a ${interval}` },
    metadata: { plan: plan.id },
  };
  return createOrRetryWithNewKey(key, (options) => stripe.prices.create(params, options));
}

const retire = command<[stripePrice: string]>(
  'plan_price_leave',
  'update plan_prices set gone_at = coalesce(gone_at, clock_now()) where stripe_price = $1',
);

/** Existing subscriptions keep the price's terms. @returns whether it was archived at Stripe */
export async function retireIfArchived(
  { db, stripe, log }: PriceDeps,
  priceId: string,
): Promise<boolean> {
  if (await isSold(stripe, priceId)) return false;
  log.warn({ price: priceId }, "a plan's price was archived at Stripe; creating a new one");
  await retire(db, priceId);
  return true;
}

async function isSold(stripe: StripeClient, id: string): Promise<boolean> {
  const price = await ifThere(stripe.prices.retrieve(id, { expand: ['product'] }));
  if (!price?.active) return false;
  const sold = expanded<Stripe.Product | Stripe.DeletedProduct>(price.product);
  return sold === null || ('active' in sold && sold.active);
}

function termsOf(plan: Omit<Offer, 'kind' | 'name' | 'active'>): string {
  const { id, credits, price, currency, period, expires_days: days } = plan;
  return JSON.stringify([id, credits, price, currency, period, days]);
}

export function digest(text: string): string {
  return hash('sha256', text);
}

const readPrices = query<[stripePrices: string[]], PlanPrice>(
  'plan_prices_by_price',
  `select ${COLUMNS} from plan_prices where stripe_price = any($1)`,
);

/** Leaves out prices that belong to no plan. */
export async function planPrices(
  db: Queryable,
  stripePrices: string[],
): Promise<Map<string, PlanPrice>> {
  const rows = await readPrices(db, stripePrices);
  return new Map(rows.map((row) => [row.stripe_price, row]));
}

/** Leaves out prices that Stripe refuses to create. */
export async function pricesOnSale(deps: PriceDeps): Promise<PlanPrice[]> {
  const prices: PlanPrice[] = [];
  for (const plan of await offersOnSale(deps.db, 'plan')) {
    try {
      prices.push(await planPriceOf(deps, plan));
    } catch (err) {
      if (!isRefused(err)) throw err;
      deps.log.error({ err, plan: plan.id }, 'Stripe refuses the price of a plan');
    }
  }
  return prices;
}
