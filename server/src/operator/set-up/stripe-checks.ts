import { offersOnSale } from '../../billing/offers.ts';
import {
  isForbidden,
  isMissing,
  openStripe,
  type StripeClient,
} from '../../billing/stripe-client.ts';
import { latestStripeEvent, STRIPE_EVENTS } from '../../billing/sweep.ts';
import { type Check, type Finding, notChecked, type SetUp, toDo } from './set-up.ts';

const NOTHING_SOLD = notChecked(
  'nothing is sold: operators grant credits',
  'To sell credits, set STRIPE_SECRET_KEY: see docs/operators/billing.md#connect-stripe.',
);
const KEY = 'Check STRIPE_SECRET_KEY, and that this machine reaches Stripe.';
const PERMISSIONS = 'See docs/operators/billing.md#permissions-of-a-restricted-key.';
const WEBHOOK = 'See docs/operators/billing.md#connect-stripe.';

export const STRIPE_CHECKS: Check[] = [
  stripeCheck('Stripe key', KEY, async (stripe, { secretKey }) => {
    const missing = await missingPermissions(stripe);
    if (missing.length > 0) return toDo(`it lacks permissions: ${missing.join(', ')}`, PERMISSIONS);
    if (/_live_/.test(secretKey)) return 'a live key with all permissions';
    return notChecked('a key of test mode: nobody pays', 'Set the key of live mode.');
  }),
  stripeCheck('Stripe webhook', WEBHOOK, async (stripe, _, { publicUrl }) => {
    const wanted = `${publicUrl}/webhooks/stripe`;
    const endpoints = await endpointsAt(stripe);
    if (!endpoints) {
      return notChecked('the key may not read the webhook endpoints', `Compare them: ${WEBHOOK}`);
    }
    const own = endpoints.find(({ url, status }) => url === wanted && status === 'enabled');
    if (!own) return toDo(`no enabled endpoint is ${wanted}`);
    const chosen = own.enabled_events.includes('*') ? STRIPE_EVENTS : own.enabled_events;
    const missing = STRIPE_EVENTS.filter((type) => !chosen.includes(type));
    if (missing.length === 0) return `${wanted} gets all events`;
    return toDo(`it does not get ${missing.join(', ')}`, 'Add them in the dashboard of Stripe.');
  }),
  stripeCheck('Stripe events', WEBHOOK, async (_stripe, _, { db }) => {
    const latest = await latestStripeEvent(db);
    if (latest) return `the last one came at ${latest.toISOString()} with a valid signature`;
    const todo =
      'Buy a pack, or send a test event from the dashboard: it shows whether ' +
      'STRIPE_WEBHOOK_SECRET is right.';
    return notChecked('none has come yet', todo);
  }),
  stripeCheck('packs and plans', 'Start the service.', async (_stripe, _, { db }) => {
    const kinds = await Promise.all([offersOnSale(db, 'pack'), offersOnSale(db, 'plan')]);
    const names = kinds.flat().map(({ name }) => name);
    if (names.length > 0) return names.join(', ');
    return toDo('none is on sale', 'Set one: see docs/operators/billing.md#packs-and-plans.');
  }),
];

/** A check that needs Stripe. */
function stripeCheck(
  name: string,
  todo: string,
  work: (
    stripe: StripeClient,
    settings: NonNullable<SetUp['stripe']>,
    setUp: SetUp,
  ) => Promise<Finding>,
): Check {
  const run = async (setUp: SetUp) => {
    const { stripe: settings } = setUp;
    return settings ? work(await openStripe(settings, 0), settings, setUp) : NOTHING_SOLD;
  };
  return { name, todo, run };
}

/** No object of Stripe has this id, so that calls about it change nothing. */
const NONE = 'framewright_set_up';

/** Stripe checks a key's permissions before it looks for the object. */
const PROBES: Record<string, (stripe: StripeClient) => Promise<unknown>> = {
  'write Customers': ({ customers }) => customers.update(NONE),
  'write Prices': ({ prices }) => prices.update(NONE),
  'write Checkout Sessions': ({ checkout }) => checkout.sessions.expire(NONE),
  'write PaymentIntents': ({ paymentIntents }) => paymentIntents.cancel(NONE),
  'write Subscriptions': ({ subscriptions }) => subscriptions.update(NONE),
  'write Customer portal': ({ billingPortal }) => billingPortal.configurations.update(NONE),
  'read Payment Methods': ({ customers }) => customers.listPaymentMethods(NONE),
  'read Charges and Refunds': ({ charges }) => charges.retrieve(NONE),
  'read Disputes': ({ disputes }) => disputes.retrieve(NONE),
  'read Invoices': ({ invoices }) => invoices.retrieve(NONE),
};

async function missingPermissions(stripe: StripeClient): Promise<string[]> {
  const asked = Object.entries(PROBES).map(async ([name, probe]) => {
    try {
      await probe(stripe);
    } catch (error) {
      if (isForbidden(error)) return [name];
      if (!isMissing(error)) throw error;
    }
    return [];
  });
  return (await Promise.all(asked)).flat();
}

async function endpointsAt({ webhookEndpoints }: StripeClient) {
  try {
    return (await webhookEndpoints.list({ limit: 100 })).data;
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}
