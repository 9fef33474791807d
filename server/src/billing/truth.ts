import type Stripe from 'stripe';
import type { CreditOrder } from './credit-order.ts';
import { expanded, idOf, type StripeClient } from './stripe-client.ts';

/** What Stripe says of an order now. Amounts are in minor units. */
export interface Truth {
  state: 'pending' | 'paid' | 'failed' | 'expired';
  /** The price at Stripe, without taxes; null: nothing of it is for this order. */
  asked: { price: number; currency: string } | null;
  /** What was paid, with taxes. */
  amount: number;
  refunded: number;
  /** What disputes take now: those that are open or lost. */
  disputed: number;
  dispute: string | null;
  /** The object at Stripe, and its payment intent. */
  stripeId: string | null;
  payment: string | null;
  receiptUrl: string | null;
  failure: string | null;
}

const NOTHING: Truth = {
  ...{ state: 'pending', asked: null, amount: 0, refunded: 0, disputed: 0, dispute: null },
  ...{ stripeId: null, payment: null, receiptUrl: null, failure: null },
};

/** After this time, nobody can pay a Checkout session whose address was lost. */
export const LOST_CHECKOUT_SECONDS = 25 * 3600;

/**
 * What Stripe says of an order that was paid by Checkout. The payment page of a disabled account is
 * closed: nobody could use the credits.
 */
export async function readCheckoutOrder(stripe: StripeClient, order: CreditOrder): Promise<Truth> {
  if (order.stripe_id === null) {
    const isOver = order.age_seconds > LOST_CHECKOUT_SECONDS;
    return { ...NOTHING, state: isOver ? 'expired' : 'pending' };
  }
  const expand = ['payment_intent.latest_charge'];
  let session = await stripe.checkout.sessions.retrieve(order.stripe_id, { expand });
  if (session.status === 'open' && order.is_disabled) {
    session = await stripe.checkout.sessions.expire(order.stripe_id, { expand });
  }
  const payment = expanded<Stripe.PaymentIntent>(session.payment_intent);
  const { amount_subtotal: price, amount_total: amount, currency } = session;
  // Metadata can be edited at Stripe, this reference can't.
  const isOwn = session.client_reference_id === order.id;
  return {
    ...(await readCharge(stripe, payment)),
    state: stateOfSession(session, payment),
    asked: !isOwn || price === null || currency === null ? null : { price, currency },
    amount: amount ?? 0,
    stripeId: session.id,
  };
}

function stateOfSession(
  session: Stripe.Checkout.Session,
  payment: Stripe.PaymentIntent | null,
): Truth['state'] {
  if (session.status === 'expired') return 'expired';
  if (session.status !== 'complete') return 'pending';
  if (session.payment_status !== 'unpaid') return 'paid';
  // Paid later, such as by bank transfer.
  return payment === null ? 'pending' : stateOfPayment(payment);
}

/** What Stripe says of a payment without Checkout. */
export async function truthOfPayment(
  stripe: StripeClient,
  payment: Stripe.PaymentIntent,
): Promise<Truth> {
  const { amount, currency } = payment;
  return {
    ...(await readCharge(stripe, payment)),
    ...{ state: stateOfPayment(payment), asked: { price: amount, currency }, amount },
    stripeId: payment.id,
    failure: payment.last_payment_error?.decline_code ?? payment.last_payment_error?.code ?? null,
  };
}

/** What Stripe says of a payment that failed before anything was known of it. */
export function failedTruth(failure: string, payment: string | null): Truth {
  return { ...NOTHING, state: 'failed', failure, stripeId: payment, payment };
}

function stateOfPayment({ status }: Stripe.PaymentIntent): Truth['state'] {
  if (status === 'succeeded') return 'paid';
  return status === 'canceled' || status === 'requires_payment_method' ? 'failed' : 'pending';
}

/** What Stripe says of an invoice that was paid when its order was made. */
export async function readInvoiceOrder(stripe: StripeClient, order: CreditOrder): Promise<Truth> {
  const invoice = await stripe.invoices.retrieve(order.stripe_id ?? '', { expand: ['payments'] });
  const paid = invoice.payments?.data.find(({ payment }) => payment.payment_intent !== undefined);
  const id = idOf(paid?.payment.payment_intent);
  const payment =
    id === null ? null : await stripe.paymentIntents.retrieve(id, { expand: ['latest_charge'] });
  const charge = await readCharge(stripe, payment);
  return {
    ...charge,
    state: invoice.status === 'paid' ? 'paid' : 'failed',
    asked: { price: invoice.total, currency: invoice.currency },
    amount: invoice.amount_due, // the rest came from a balance, and no credits with it
    stripeId: invoice.id,
    receiptUrl: invoice.hosted_invoice_url ?? charge.receiptUrl,
    // Which of its lines brought nothing. Why it is mismatched is found anew.
    failure: order.credits > 0 && order.state === 'mismatched' ? null : order.failure,
  };
}

/** What was taken back of the charge that paid. `payment` has its `latest_charge`. */
async function readCharge(
  stripe: StripeClient,
  payment: Stripe.PaymentIntent | null,
): Promise<Truth> {
  const charge = expanded<Stripe.Charge>(payment?.latest_charge);
  const taken = { ...NOTHING, payment: payment?.id ?? null };
  if (!charge) return taken;
  taken.refunded = charge.amount_refunded;
  taken.receiptUrl = charge.receipt_url;
  if (!charge.disputed) return taken;
  const { data } = await stripe.disputes.list({ charge: charge.id, limit: 100 });
  taken.dispute = data[0]?.status ?? 'needs_response';
  taken.disputed = data
    .filter(({ status }) => takesMoney(status))
    .reduce((sum, { amount }) => sum + amount, 0);
  return taken;
}

/** An inquiry (`warning_...`) takes no money, and one that was won or prevented gave it back. */
function takesMoney(status: string): boolean {
  return !status.startsWith('warning_') && status !== 'won' && status !== 'prevented';
}

/** Whether a dispute may still change. */
export function isDisputeOpen(dispute: string | null): boolean {
  return dispute !== null && !['won', 'lost', 'warning_closed', 'prevented'].includes(dispute);
}

/**
 * What a paid order is worth now: all its credits, less the share that was refunded or is disputed,
 * rounded down.
 */
export function worth(
  credits: number,
  { amount, refunded, disputed }: Pick<Truth, 'amount' | 'refunded' | 'disputed'>,
): number {
  const kept = Math.max(0, amount - refunded - disputed);
  if (amount === 0) return credits; // a discount of 100 %
  return Number((BigInt(credits) * BigInt(kept)) / BigInt(amount));
}
