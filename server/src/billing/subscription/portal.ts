import type Stripe from 'stripe';
import { type Queryable, statement } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import { knownCustomer } from '../customers.ts';
import type { BillingDeps, StripeClient } from '../stripe-client.ts';
import { digest, pricesOfSale } from './plan-prices.ts';

/**
 * Opens the Customer Portal of Stripe: cards, invoices, another plan, cancellation.
 * @returns its address
 * @throws ApiError `not_found` if the account has bought nothing yet; Stripe's error
 */
export async function openPortal(deps: BillingDeps, accountId: string): Promise<string> {
  const customer = await knownCustomer(deps.db, accountId);
  if (customer === null) throw new ApiError('not_found', 'There is nothing to manage yet.');
  const session = await deps.stripe.billingPortal.sessions.create({
    customer,
    configuration: await configuration(deps),
    return_url: `${deps.publicUrl()}/credits?managed=yes`,
  });
  return session.url;
}

const READ = statement(
  'portal_read',
  'select stripe_configuration from portal_configurations where digest = $1',
);

const SAVE = statement(
  'portal_save',
  `insert into portal_configurations (digest, stripe_configuration) values ($1, $2)
   on conflict (digest) do nothing`,
);

/** Stripe's limit. */
const MAX_PRODUCTS = 10;

/** The configuration that lets customers change to the plans of today. */
async function configuration(deps: { db: Queryable; stripe: StripeClient }): Promise<string> {
  const prices = (await pricesOfSale(deps)).slice(0, MAX_PRODUCTS);
  const products = prices.map((price) => ({
    product: price.stripe_product,
    prices: [price.stripe_price],
  }));
  const features = featuresFor(products);
  const key = digest(JSON.stringify(features));
  const [known] = await deps.db.query<{ stripe_configuration: string }>(READ, [key]);
  if (known) return known.stripe_configuration;
  const created = await deps.stripe.billingPortal.configurations.create(
    { features },
    { idempotencyKey: `portal:${key}` },
  );
  await deps.db.query(SAVE, [key, created.id]);
  return created.id;
}

/**
 * What customers may do. An upgrade is invoiced at once, so its credits come with the payment; a
 * cheaper plan begins with the next period, since the credits of this one are theirs already.
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
            ...{ enabled: true, default_allowed_updates: ['price'], products },
            proration_behavior: 'always_invoice',
            schedule_at_period_end: {
              conditions: [{ type: 'decreasing_item_amount' }, { type: 'shortening_interval' }],
            },
          },
  };
}
