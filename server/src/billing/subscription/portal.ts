import type Stripe from 'stripe';
import { namedStatement, queryValue } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import { knownCustomer, withCustomer } from '../customers.ts';
import { type BillingDeps, createOrRetryWithNewKey, ifThere, isRefused } from '../stripe-client.ts';
import { digest, type PlanPrice, pricesOnSale, retireIfArchived } from './plan-prices.ts';

/** @throws ApiError `not_found` if the account has bought nothing yet; Stripe's error */
export async function openPortal(deps: BillingDeps, accountId: string): Promise<string> {
  const known = await knownCustomer(deps.db, accountId, deps.scope);
  if (known === null) throw new ApiError('not_found', 'There is nothing to manage yet.');
  return withCustomer(deps, accountId, async (customer) => {
    const before = await configurationOnSale(deps);
    try {
      return await openSession(deps, customer, before);
    } catch (error) {
      if (!isRefused(error) || !(await isGone(deps, before))) throw error;
      return openSession(deps, customer, await configurationOnSale(deps, before));
    }
  });
}

async function openSession(
  { stripe, publicUrl }: BillingDeps,
  customer: string,
  configuration: string,
): Promise<string> {
  const return_url = `${publicUrl()}/credits?managed=yes`;
  const asked = { customer, configuration, return_url };
  return (await stripe.billingPortal.sessions.create(asked)).url;
}

async function isGone({ stripe }: BillingDeps, configuration: string): Promise<boolean> {
  const found = await ifThere(stripe.billingPortal.configurations.retrieve(configuration));
  return !found?.active;
}

/**
 * The id of a configuration that offers the plans on sale. If Stripe refuses their prices, archived
 * ones are replaced once; after that no plans are offered, so that customers can still cancel and
 * change their card.
 * @param gone the configuration that a new one replaces
 */
async function configurationOnSale(
  deps: BillingDeps,
  gone?: string,
  replacesArchived = true,
): Promise<string> {
  const prices = await pricesOnSale(deps);
  try {
    return await configurationFor(deps, prices, gone);
  } catch (err) {
    if (!isRefused(err) || prices.length === 0) throw err;
    const retired: boolean[] = [];
    for (const { stripe_price: id } of prices) retired.push(await retireIfArchived(deps, id));
    if (replacesArchived && retired.includes(true)) return configurationOnSale(deps, gone, false);
    deps.log.error({ err }, "customers can't change plans: Stripe refuses the prices");
    return configurationFor(deps, [], gone);
  }
}

const read = queryValue<[digest: string], string | undefined>(
  'portal_read',
  'select stripe_configuration from portal_configurations where digest = $1',
  undefined,
);

const SAVE = namedStatement(
  'portal_save',
  `insert into portal_configurations (digest, stripe_configuration, stripe_mode, stripe_account)
   values (:key, :id, :mode, :account)
   on conflict (digest) do update set stripe_configuration = excluded.stripe_configuration
     where portal_configurations.stripe_configuration = :gone`,
);

const MAX_PRODUCTS = 10;

async function configurationFor(
  { db, stripe, scope }: BillingDeps,
  prices: PlanPrice[],
  gone = '',
): Promise<string> {
  const products = prices.slice(0, MAX_PRODUCTS).map((price) => ({
    product: price.stripe_product,
    prices: [price.stripe_price],
  }));
  const features = featuresFor(products);
  const { mode, account } = scope;
  const key = digest(JSON.stringify([mode, account, features]));
  const known = await read(db, key);
  if (known && known !== gone) return known;
  const { id } = await createOrRetryWithNewKey(`portal:${key}${gone}`, (options) =>
    stripe.billingPortal.configurations.create({ features }, options),
  );
  await db.query(SAVE, SAVE.values({ key, id, mode, account, gone }));
  return id;
}

/**
 * An upgrade is invoiced at once, so its credits come with the payment; a downgrade starts with the
 * next period, since the customer already has this one's credits.
 */
function featuresFor(
  products: Array<{ product: string; prices: string[] }>,
): Stripe.BillingPortal.ConfigurationCreateParams.Features {
  return {
    invoice_history: { enabled: true },
    payment_method_update: { enabled: true },
    subscription_cancel: { enabled: true, mode: 'at_period_end' },
    subscription_update:
      products.length === 0
        ? { enabled: false }
        : {
            enabled: true,
            default_allowed_updates: ['price'],
            products,
            proration_behavior: 'always_invoice',
            schedule_at_period_end: {
              conditions: [{ type: 'decreasing_item_amount' }, { type: 'shortening_interval' }],
            },
          },
  };
}
