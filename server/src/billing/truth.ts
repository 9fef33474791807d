import type Stripe from 'stripe';
import type { CreditOrder } from './credit-order.ts';
import { expanded, idOf, type StripeClient } from './stripe-client.ts';
import { sumTakenBack, type TakenBack, takenBack } from './taken-back.ts';

/** An order's current state at Stripe. Amounts are in minor units. */
export interface Truth extends TakenBack {
  state: 'pending' | 'paid' | 'failed' | 'expired';
  /** The price at Stripe, before taxes; null: Stripe shows no price for this order. */
  priceAtStripe: { price: number; currency: string } | null;
  /** The amount paid, including taxes. */
  amount: number;
  /** The Checkout session, payment intent or invoice. */
  stripeId: string | null;
  payment: string | null; // the payment intent
  /** Whether its payment page has ended: the money may still be on its way. */
  isPageOver: boolean;
  /** The other payment intents of an invoice that was paid in parts. */
  otherPayments: string[];
  receiptUrl: string | null;
  failure: string | null;
}

const NOTHING: Truth = {
  state: 'pending',
  priceAtStripe: null,
  amount: 0,
  refunded: 0,
  disputed: 0,
  dispute: null,
  stripeId: null,
  payment: null,
  otherPayments: [],
  receiptUrl: null,
  failure: null,
  isPageOver: false,
};

export const CHARGE_OF_PAYMENT = 'latest_charge.refunds';

/** After this time, nobody can pay a Checkout session whose URL was lost. */
export const LOST_CHECKOUT_SECONDS = 25 * 3600;

/**
 * Reads an order's Checkout. If the account is disabled, also closes its payment page, because
 * nobody could use the credits.
 */
export async function readCheckoutOrder(stripe: StripeClient, order: CreditOrder): Promise<Truth> {
  if (order.stripe_id === null) {
    const isOver = order.age_seconds > LOST_CHECKOUT_SECONDS;
    return { ...NOTHING, state: isOver ? 'expired' : 'pending' };
  }
  const expand = [`payment_intent.${CHARGE_OF_PAYMENT}`];
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
    priceAtStripe: !isOwn || price === null || currency === null ? null : { price, currency },
    amount: amount ?? 0,
    stripeId: session.id,
    isPageOver: session.status !== 'open',
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

export async function truthOfPayment(
  stripe: StripeClient,
  payment: Stripe.PaymentIntent,
): Promise<Truth> {
  const { amount, currency } = payment;
  return {
    ...(await readCharge(stripe, payment)),
    state: stateOfPayment(payment),
    priceAtStripe: { price: amount, currency },
    amount,
    stripeId: payment.id,
    failure: payment.last_payment_error?.decline_code ?? payment.last_payment_error?.code ?? null,
  };
}

/** The state of a payment that failed before Stripe told us anything about it. */
export function failedTruth(failure: string, payment: string | null): Truth {
  return { ...NOTHING, state: 'failed', failure, stripeId: payment, payment };
}

function stateOfPayment({ status }: Stripe.PaymentIntent): Truth['state'] {
  if (status === 'succeeded') return 'paid';
  return status === 'canceled' || status === 'requires_payment_method' ? 'failed' : 'pending';
}

/**
 * The invoice was paid when the order was made, perhaps in parts: refunds and disputes of each part
 * count.
 */
export async function readInvoiceOrder(stripe: StripeClient, order: CreditOrder): Promise<Truth> {
  const invoice = await stripe.invoices.retrieve(order.stripe_id ?? '', { expand: ['payments'] });
  const parts: Truth[] = [];
  for (const part of await paymentsOf(stripe, invoice)) parts.push(await readPart(stripe, part));
  const [payment = null, ...otherPayments] = parts.flatMap((part) => part.payment ?? []);
  return {
    ...sumTakenBack(parts),
    payment,
    otherPayments,
    state: invoice.status === 'paid' ? 'paid' : 'failed',
    isPageOver: true,
    priceAtStripe: { price: Math.max(0, invoice.total), currency: invoice.currency },
    amount: invoice.amount_due, // the rest came from a balance, which brings no credits
    stripeId: invoice.id,
    receiptUrl: invoice.hosted_invoice_url ?? parts[0]?.receiptUrl ?? null,
    // Keep the note about lines that brought no credits; a mismatch is computed again.
    failure: order.credits > 0 && order.state === 'mismatched' ? null : order.failure,
  };
}

/** An invoice comes with only its first payments, of any status. */
async function paymentsOf(
  stripe: StripeClient,
  { id, payments }: Stripe.Invoice,
): Promise<Stripe.InvoicePayment[]> {
  const all = payments?.has_more
    ? await Array.fromAsync(stripe.invoicePayments.list({ invoice: id, limit: 100 }))
    : (payments?.data ?? []);
  return all.filter(({ status }) => status === 'paid');
}

/** If the payment pays other invoices too, this invoice's share counts. */
async function readPart(
  stripe: StripeClient,
  { payment, amount_paid: paid }: Stripe.InvoicePayment,
): Promise<Truth> {
  const id = idOf(payment.payment_intent);
  if (id === null) return NOTHING; // paid outside of Stripe
  const intent = await stripe.paymentIntents.retrieve(id, { expand: [CHARGE_OF_PAYMENT] });
  const charge = await readCharge(stripe, intent);
  const received = intent.amount_received;
  const part = paid ?? received;
  if (!(part < received)) return charge;
  const invoiceShare = (amount: number) => Math.ceil((amount * part) / received);
  const { refunded, disputed } = charge;
  return { ...charge, refunded: invoiceShare(refunded), disputed: invoiceShare(disputed) };
}

/** The payment must be read with {@link CHARGE_OF_PAYMENT}. */
async function readCharge(
  stripe: StripeClient,
  payment: Stripe.PaymentIntent | null,
): Promise<Truth> {
  const charge = expanded<Stripe.Charge>(payment?.latest_charge);
  const read = { ...NOTHING, payment: payment?.id ?? null };
  if (!charge) return read;
  return { ...read, receiptUrl: charge.receipt_url, ...(await takenBack(stripe, charge)) };
}

/** A paid order's credits, less the share that was refunded or is disputed, rounded down. */
export function worth(
  credits: number,
  { amount, refunded, disputed }: Pick<Truth, 'amount' | 'refunded' | 'disputed'>,
): number {
  if (amount === 0) return credits; // a discount of 100 %
  return share(credits, amount - refunded - disputed, amount);
}

/** Rounds down. */
export function share(credits: number, part: number, amount: number): number {
  if (part >= amount) return credits;
  return part <= 0 ? 0 : Number((BigInt(credits) * BigInt(part)) / BigInt(amount));
}
