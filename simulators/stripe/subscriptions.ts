import { invalid } from './form.ts';
import type { Invoice, InvoiceLine, Metadata, Price, Subscription } from './objects.ts';
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
    ...{ status: 'active', customer, metadata, cancel_at: null, cancel_at_period_end: false },
    ended_at: null,
    items: { object: 'list', data: [{ id: newObjectId('si_'), price, ...periodOf(price, start) }] },
  });
  state.emit('customer.subscription.created', subscription);
  const reason = 'subscription_create';
  invoice(state, subscription, { reason, lines: [lineOf(price, price.unit_amount)] });
  return subscription;
}

function periodOf({ recurring }: Price, start: number) {
  const seconds = PERIOD_SECONDS[recurring?.interval ?? 'month'];
  return { current_period_start: start, current_period_end: start + seconds };
}

function lineOf(price: Price, amount: number): InvoiceLine {
  return {
    ...{ id: newObjectId('il_'), amount, description: price.product_name },
    pricing: {
      type: 'price_details',
      price_details: { price: price.id, product: price.product },
    },
  };
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
  const total = lines.reduce((sum, line) => sum + line.amount, 0);
  const { currency } = itemOf(subscription).price;
  const made = state.add('invoice', {
    ...{ status: 'open', billing_reason: reason, customer, currency, total },
    amount_due: takeFromBalance(state, customer, total),
    hosted_invoice_url: '',
    parent: {
      type: 'subscription_details',
      subscription_details: { subscription: subscription.id, metadata },
    },
    lines: { object: 'list', data: lines },
    payments: { object: 'list', data: [] },
  });
  made.hosted_invoice_url = `${state.baseUrl}/receipts/${made.id}`;
  // Nobody is charged for what an unpaid subscription costs further: its invoices stay drafts.
  if (subscription.status === 'unpaid') made.status = 'draft';
  else payInvoice(state, made);
  return made;
}

/** Takes what the customer has from a total, or adds to it. @returns what is left to charge */
function takeFromBalance(state: State, customerId: string, total: number): number {
  const customer = state.get('customer', customerId);
  const sum = total + customer.balance;
  customer.balance = Math.min(0, sum);
  return Math.max(0, sum);
}

/** Charges the customer's card for an open invoice. */
function payInvoice(state: State, made: Invoice): void {
  if (made.amount_due > 0 && !chargeInvoice(state, made)) {
    const isFirst = made.billing_reason === 'subscription_create';
    setStatus(state, made, isFirst ? 'incomplete' : 'past_due');
    state.emit('invoice.payment_failed', made);
    return;
  }
  made.status = 'paid';
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
    return completePayment(state, intent, method?.declines === false).status === 'succeeded';
  }
  const payment = { amount, currency, customer, method, metadata: {} };
  const intent = method
    ? pay(state, payment)
    : openPayment(state, payment, 'requires_payment_method');
  payments.data.push({
    id: newObjectId('inpay_'),
    payment: { type: 'payment_intent', payment_intent: intent.id },
  });
  return intent.status === 'succeeded';
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
  const lines = [lineOf(item.price, item.price.unit_amount)];
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

/** Changes the plan now: the rest of the period is credited and charged at once. */
export function changePrice(state: State, id: string, price: Price): void {
  const subscription = state.get('subscription', id);
  const item = itemOf(subscription);
  const before = item.price;
  const length = item.current_period_end - item.current_period_start;
  const rest = Math.max(0, item.current_period_end - nowSeconds()) / length;
  item.price = price;
  state.emit('customer.subscription.updated', subscription);
  const lines = [
    lineOf(before, -Math.round(before.unit_amount * rest)),
    lineOf(price, Math.round(price.unit_amount * rest)),
  ];
  invoice(state, subscription, { reason: 'subscription_update', lines });
}

/** The seller sends an invoice with these lines beside the periods. */
export function invoiceNow(
  state: State,
  id: string,
  lines: Array<{ price: Price; amount: number }>,
): Invoice {
  return invoice(state, state.get('subscription', id), {
    reason: 'manual',
    lines: lines.map(({ price, amount }) => lineOf(price, amount)),
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
