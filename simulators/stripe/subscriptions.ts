import { invalid } from './form.ts';
import { discountOf, lineOf, totalOf } from './invoice-lines.ts';
import type {
  Coupon,
  Invoice,
  InvoiceLine,
  InvoicePayment,
  Metadata,
  PaymentIntent,
  Price,
  Subscription,
} from './objects.ts';
import { cardOf, completePayment, openPayment, pay } from './payments.ts';
import { newObjectId, nowSeconds, type State } from './state.ts';

const PERIOD_SECONDS = { month: 30 * 86_400, year: 365 * 86_400 };

/** Begins a subscription with its first, paid period. */
export function beginSubscription(
  state: State,
  { customer, price, metadata }: { customer: string; price: Price; metadata: Metadata },
): Subscription {
  const start = nowSeconds();
  const subscription = state.add('subscription', {
    status: 'active',
    customer,
    metadata,
    cancel_at: null,
    cancel_at_period_end: false,
    ended_at: null,
    items: {
      object: 'list',
      data: [{ id: newObjectId('si_'), price, quantity: 1, ...periodOf(price, start) }],
    },
  });
  state.emit('customer.subscription.created', subscription);
  const reason = 'subscription_create';
  invoice(state, subscription, { reason, lines: [lineOfPeriod(state, subscription)] });
  return subscription;
}

/** The price of the current period, with today's coupon. */
function lineOfPeriod(state: State, subscription: Subscription): InvoiceLine {
  const { current_period_start: start, current_period_end: end } = itemOf(subscription);
  return debited(state, subscription, { period: { start, end } });
}

/** The price of the current period, or of its rest, with today's coupon. */
function debited(
  state: State,
  subscription: Subscription,
  { period, share = 1, proration = false }: { period: Period; share?: number; proration?: boolean },
): InvoiceLine {
  const { price, quantity } = itemOf(subscription);
  const { coupon } = state.get('customer', subscription.customer);
  const amount = Math.round(price.unit_amount * quantity * share);
  const off = discountOf(amount, coupon);
  subscription.debit = { amount, off, start: period.start, coupon };
  return lineOf({ price, quantity, amount, off, period, coupon, proration });
}

type Period = InvoiceLine['period'];

/** Gives the rest of the present period back, as it was debited. */
function credited(subscription: Subscription, period: Period): InvoiceLine {
  const { debit } = subscription;
  if (!debit) throw new Error('a subscription begins with a period');
  const { price, quantity } = itemOf(subscription);
  const { coupon, start } = debit;
  const share = (period.end - period.start) / (period.end - start);
  const amount = -Math.round(debit.amount * share);
  const off = -Math.round(debit.off * share);
  return lineOf({ price, quantity, amount, off, period, coupon, proration: true });
}

/** Sets the discount of the customer's invoices from now on; undefined: none any more. */
export function setCoupon(
  state: State,
  customerId: string,
  coupon: Omit<Coupon, 'discount'> | undefined,
): void {
  const discount = newObjectId('di_');
  state.get('customer', customerId).coupon = coupon && { ...coupon, discount };
}

function periodOf({ recurring }: Price, start: number) {
  const seconds = PERIOD_SECONDS[recurring?.interval ?? 'month'];
  return { current_period_start: start, current_period_end: start + seconds };
}

function itemOf({ items }: Subscription) {
  const [item] = items.data;
  if (!item) throw new Error('a subscription has one item');
  return item;
}

/** Makes an invoice and charges the customer's card for it. */
function invoice(
  state: State,
  subscription: Subscription,
  { reason, lines }: { reason: string; lines: InvoiceLine[] },
): Invoice {
  const { customer, metadata } = subscription;
  const { tax_percent: tax = 0 } = state.get('customer', customer);
  const total = Math.round(totalOf(lines) * (1 + tax / 100));
  const { currency } = itemOf(subscription).price;
  const made = state.add('invoice', {
    status: 'open',
    billing_reason: reason,
    customer,
    currency,
    total,
    ...takeFromBalance(state, customer, total),
    status_transitions: { finalized_at: nowSeconds(), paid_at: null },
    hosted_invoice_url: '',
    parent: {
      type: 'subscription_details',
      subscription_details: { subscription: subscription.id, metadata },
    },
    lines: { object: 'list', data: lines },
    payments: { object: 'list', data: [] },
  });
  made.hosted_invoice_url = `${state.baseUrl}/receipts/${made.id}`;
  // An unpaid subscription is not charged any more: its further invoices stay drafts.
  if (subscription.status === 'unpaid') made.status = 'draft';
  else payInvoice(state, made);
  return made;
}

/** The least that Stripe charges, of all currencies here. */
const MINIMUM_CHARGE = 50;

/**
 * Takes what the customer has from a total, or adds what the customer owes. What is less than
 * the minimum charge is owed with the next invoice.
 */
function takeFromBalance(state: State, customerId: string, total: number) {
  const customer = state.get('customer', customerId);
  const starting_balance = customer.balance;
  const sum = total + starting_balance;
  const amount_due = sum < MINIMUM_CHARGE ? 0 : sum;
  customer.balance = sum - amount_due;
  return { amount_due, starting_balance, ending_balance: customer.balance };
}

/** Charges the customer's card for an open invoice. */
function payInvoice(state: State, made: Invoice): void {
  if (made.amount_due > 0 && !chargeInvoice(state, made)) {
    const isFirst = made.billing_reason === 'subscription_create';
    setStatus(state, made, isFirst ? 'incomplete' : 'past_due');
    state.emit('invoice.payment_failed', made);
    return;
  }
  endInvoice(state, made);
}

/** An invoice is paid. */
function endInvoice(state: State, made: Invoice): void {
  made.status = 'paid';
  made.status_transitions.paid_at = nowSeconds();
  setStatus(state, made, 'active');
  state.emit('invoice.paid', made);
}

/** @returns whether the card was charged */
function chargeInvoice(
  state: State,
  { amount_due: amount, currency, customer, payments }: Invoice,
): boolean {
  const [first] = payments.data;
  const method = cardOf(state, customer);
  if (first) {
    const intent = state.get('payment_intent', first.payment.payment_intent);
    completePayment(state, intent, method?.declines === false);
    Object.assign(first, paymentOf(intent), { id: first.id });
    return intent.status === 'succeeded';
  }
  const payment = { amount, currency, customer, method, metadata: {} };
  const intent = method
    ? pay(state, payment)
    : openPayment(state, payment, 'requires_payment_method');
  payments.data.push(paymentOf(intent));
  return intent.status === 'succeeded';
}

function paymentOf(intent: PaymentIntent): InvoicePayment {
  const isPaid = intent.status === 'succeeded';
  return {
    id: newObjectId('inpay_'),
    object: 'invoice_payment',
    status: isPaid ? 'paid' : 'open',
    amount_paid: isPaid ? intent.amount : null,
    payment: { type: 'payment_intent', payment_intent: intent.id },
  };
}

/**
 * An open invoice is paid in parts that the seller attaches, such as bank transfers. The payment
 * with the card is canceled, and still listed first.
 * @returns the payments
 */
export function payInParts(state: State, invoiceId: string, amounts: number[]): PaymentIntent[] {
  const made = state.get('invoice', invoiceId);
  if (made.status !== 'open') throw invalid(`The invoice is ${made.status}.`);
  const { customer, currency, payments } = made;
  for (const one of payments.data) if (one.status === 'open') one.status = 'canceled';
  const parts = amounts.map((amount) =>
    pay(state, { amount, currency, customer, method: undefined, metadata: {} }),
  );
  payments.data.push(...parts.map(paymentOf));
  endInvoice(state, made);
  return parts;
}

function setStatus(state: State, made: Invoice, status: Subscription['status']): void {
  const { subscription: id } = made.parent.subscription_details;
  const subscription = state.get('subscription', id);
  if (subscription.status === status || subscription.ended_at !== null) return;
  subscription.status = status;
  state.emit('customer.subscription.updated', subscription);
}

/** The next period begins: it is paid, or the subscription ends because it was canceled. */
export function renew(state: State, id: string): void {
  const subscription = state.get('subscription', id);
  if (subscription.cancel_at_period_end) {
    endSubscription(state, id);
    return;
  }
  const item = itemOf(subscription);
  Object.assign(item, periodOf(item.price, item.current_period_end));
  const lines = [lineOfPeriod(state, subscription)];
  invoice(state, subscription, { reason: 'subscription_cycle', lines });
}

/** Stripe tries the card again for what is not paid yet. */
export function retryInvoices(state: State, id: string): void {
  for (const made of invoicesOf(state, id)) if (made.status === 'open') payInvoice(state, made);
}

function invoicesOf(state: State, subscription: string): Invoice[] {
  return state
    .all('invoice')
    .filter(({ parent }) => parent.subscription_details.subscription === subscription);
}

/** The customer pays an invoice on its page, also after its subscription has ended. */
export function payByHand(state: State, id: string): Invoice {
  const made = state.get('invoice', id);
  if (made.status !== 'open' && made.status !== 'uncollectible') {
    throw invalid(`The invoice is ${made.status}.`);
  }
  payInvoice(state, made);
  return made;
}

/** The seller finalizes a draft, writes an invoice off, or declares it void. */
export function markInvoice(
  state: State,
  id: string,
  status: 'open' | 'uncollectible' | 'void',
): void {
  const made = state.get('invoice', id);
  if (made.status === 'paid' || made.status === 'void') throw invalid(`It is ${made.status}.`);
  made.status = status;
  const words = { open: 'finalized', uncollectible: 'marked_uncollectible', void: 'voided' };
  state.emit(`invoice.${words[status]}`, made);
}

/** All tries of the card have failed, and the seller's settings keep the subscription so. */
export function leaveUnpaid(state: State, id: string): void {
  const subscription = state.get('subscription', id);
  subscription.status = 'unpaid';
  state.emit('customer.subscription.updated', subscription);
}

/** The first invoice was not paid for 23 hours. */
export function expireIncomplete(state: State, id: string): void {
  const subscription = state.get('subscription', id);
  if (subscription.status !== 'incomplete') throw invalid(`It is ${subscription.status}.`);
  for (const made of invoicesOf(state, id)) made.status = 'void';
  Object.assign(subscription, { status: 'incomplete_expired', ended_at: nowSeconds() });
  state.emit('customer.subscription.updated', subscription);
}

/**
 * Changes the plan now: the rest of the period is credited as it was paid, and charged at once.
 * @param passed which share of the period has passed
 */
export function changePrice(
  state: State,
  id: string,
  price: Price,
  passed = 0,
  quantity = 1,
): Invoice {
  const subscription = state.get('subscription', id);
  const item = itemOf(subscription);
  const { current_period_start: first, current_period_end: end } = item;
  const start = first + Math.round(passed * (end - first));
  const share = (end - start) / (end - first);
  const period = { start, end };
  const back = credited(subscription, period);
  Object.assign(item, { price, quantity });
  const lines = [back, debited(state, subscription, { period, share, proration: true })];
  state.emit('customer.subscription.updated', subscription);
  return invoice(state, subscription, { reason: 'subscription_update', lines });
}

/** The seller sends an invoice with these lines beside the periods. */
export function invoiceNow(
  state: State,
  id: string,
  lines: Array<{ price: Price; amount: number }>,
): Invoice {
  const subscription = state.get('subscription', id);
  const { current_period_start: start, current_period_end: end } = itemOf(subscription);
  return invoice(state, subscription, {
    reason: 'manual',
    lines: lines.map((line) => lineOf({ ...line, period: { start, end } })),
  });
}

/** Cancels at the end of the period, or takes that back. */
export function cancelAtEnd(state: State, id: string, cancels: boolean): void {
  const subscription = state.get('subscription', id);
  subscription.cancel_at_period_end = cancels;
  subscription.cancel_at = cancels ? itemOf(subscription).current_period_end : null;
  state.emit('customer.subscription.updated', subscription);
}

export function endSubscription(state: State, id: string): Subscription {
  const subscription = state.get('subscription', id);
  subscription.status = 'canceled';
  subscription.ended_at = nowSeconds();
  state.emit('customer.subscription.deleted', subscription);
  return subscription;
}
