import { command, queryFirst, queryValue, whether } from '../database/database.ts';
import { settleOrder } from './settle-order.ts';
import { type BillingDeps, idOf, isMissing, type OwnScope } from './stripe-client.ts';
import { settleSubscription } from './subscription/settle-subscription.ts';

/** The id of a Stripe invoice, payment, charge or dispute, which may be unknown to us. */
export const STRIPE_PAYMENT = /^(?:in|pi|ch|py|dp|du)_[0-9A-Za-z_]{1,100}$/;

export const orderOfPayment = queryValue<[stripeId: string], string | undefined>(
  'payment_lookup_known',
  'select id from orders where stripe_id = $1 or stripe_payment = $1 order by created_at limit 1',
  undefined,
);

/** Asks a worker to find or create the order of an invoice or payment. */
export const requestPaymentLookup = command<[stripeId: string]>(
  'payment_lookup_ask',
  `insert into payment_lookups (stripe_id) values ($1) on conflict (stripe_id) do update
     set asked_at = clock_now(), due_at = clock_now(), order_id = null, answer = null`,
);

/** The result of a look-up; undefined until a worker has looked. */
export const readPaymentLookup = queryFirst<
  [stripeId: string],
  { order_id: string | null; answer: string | null }
>(
  'payment_lookup_read',
  'select order_id, answer from payment_lookups where stripe_id = $1 and due_at is null',
);

const answerLookup = command<[stripeId: string, order: string | null, answer: string | null]>(
  'payment_lookup_answer',
  `update payment_lookups set due_at = null, order_id = $2, answer = $3 where stripe_id = $1`,
);

/**
 * Finds the order of an invoice, payment, charge or dispute, and settles it. A missing order of a
 * known subscription's invoice is created.
 * @throws Stripe's error if a request fails
 */
export async function lookUpPayment(deps: BillingDeps, stripeId: string): Promise<void> {
  const found = await orderOf(deps, stripeId).catch((error: unknown) => {
    if (error instanceof Unexplained) return error;
    if (isMissing(error))
      return new Unexplained(`Stripe has no such id ${whereLooked(deps.scope)}`);
    throw error;
  });
  const [order, answer] = typeof found === 'string' ? [found, null] : [null, found.message];
  if (order !== null) await settleOrder(deps, order);
  await answerLookup(deps.db, stripeId, order, answer);
}

async function orderOf(deps: BillingDeps, id: string): Promise<string> {
  const [kind] = id.split('_');
  if (kind === 'in') return orderOfInvoice(deps, id);
  if (kind === 'pi') return orderOfIntent(deps, id);
  const { charges, disputes } = deps.stripe;
  const isDispute = kind === 'dp' || kind === 'du';
  const { payment_intent: payment } = await (isDispute ? disputes : charges).retrieve(id);
  const intent = idOf(payment);
  if (intent === null) throw new Unexplained('it has no payment intent');
  return (await orderOfPayment(deps.db, intent)) ?? orderOfIntent(deps, intent);
}

/** Part of the answer: while Stripe's key is replaced, workers may look in different accounts. */
function whereLooked({ mode, account }: OwnScope): string {
  return `in ${mode} mode${account === null ? '' : ` of ${account}`}, where the worker has looked`;
}

/** Why an invoice or payment has no order. */
class Unexplained extends Error {}

const linkSubscription = queryValue<[id: string | null, stripe: string], string | undefined>(
  'payment_lookup_subscription',
  `update subscriptions set stripe_subscription = $2, revision = revision + 1
   where stripe_subscription = $2 or (id = $1 and stripe_subscription is null) returning id`,
  undefined,
);

async function orderOfInvoice(deps: BillingDeps, id: string): Promise<string> {
  const { parent, status } = await deps.stripe.invoices.retrieve(id);
  const details = parent?.subscription_details;
  const subscription = idOf(details?.subscription);
  if (!details || subscription === null) throw new Unexplained('it belongs to no subscription');
  const named = details.metadata?.subscription ?? null;
  const own = await linkSubscription(deps.db, named, subscription);
  if (own === undefined) throw new Unexplained(`its subscription ${subscription} is unknown here`);
  await settleSubscription(deps, own);
  const order = await orderOfPayment(deps.db, id);
  if (order !== undefined) return order;
  throw new Unexplained(
    status === 'paid'
      ? 'it is paid, and worth no credits'
      : `it is not paid: its status is ${status}`,
  );
}

// An order has no Stripe id if Stripe's response to its checkout or charge was lost.
const linkOrder = whether<[id: string, stripeId: string, kind: 'pack' | 'reload']>(
  'payment_lookup_link',
  `update orders set stripe_id = coalesce(stripe_id, $2), revision = revision + 1
   where id = $1 and kind = $3 returning id`,
);

async function orderOfIntent(deps: BillingDeps, id: string): Promise<string> {
  const { db, stripe } = deps;
  const { metadata } = await stripe.paymentIntents.retrieve(id);
  const { data: sessions } = await stripe.checkout.sessions.list({ payment_intent: id, limit: 1 });
  const [session] = sessions;
  const named = session?.client_reference_id ?? metadata.order;
  if (named !== undefined) {
    const kind = session ? 'pack' : 'reload';
    if (await linkOrder(db, named, session?.id ?? id, kind)) return named;
    throw new Unexplained(`its order ${named} is unknown here: grant the credits by hand`);
  }
  const payment = { type: 'payment_intent', payment_intent: id } as const;
  const { data } = await stripe.invoicePayments.list({ payment, limit: 1 });
  const invoice = idOf(data[0]?.invoice);
  if (invoice === null) throw new Unexplained('it was not made for an order');
  return orderOfInvoice(deps, invoice);
}
