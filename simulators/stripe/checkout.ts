import { entriesOf, invalid, membersOf, type Params, required, textOf, wholeOf } from './form.ts';
import { activePrice, customerOf } from './named.ts';
import type { CheckoutSession, Metadata } from './objects.ts';
import { completePayment, openPayment, pay, saveCard } from './payments.ts';
import type { State } from './state.ts';
import { beginSubscription } from './subscriptions.ts';

export const SESSION_PARAMS = [
  'mode',
  'customer',
  'client_reference_id',
  'metadata[*]',
  'success_url',
  'cancel_url',
  'line_items[][quantity]',
  'line_items[][price]',
  'line_items[][price_data][currency]',
  'line_items[][price_data][unit_amount]',
  'line_items[][price_data][product_data][name]',
  'payment_intent_data[metadata][*]',
  'payment_intent_data[setup_future_usage]',
  'subscription_data[metadata][*]',
];

/** POST /v1/checkout/sessions: one line, of a price or with its price inline. */
export function createSession(state: State, params: Params): CheckoutSession {
  const mode = required(params, 'mode');
  if (mode !== 'payment' && mode !== 'subscription') throw invalid(`Invalid mode: ${mode}`);
  const [line] = entriesOf(params, 'line_items');
  if (!line) throw invalid('Missing required param: line_items.', 'parameter_missing');
  const inner = membersOf(params, mode === 'payment' ? 'payment_intent_data' : 'subscription_data');
  const { currency, amount, item } = soldOf(state, line);
  const customer = customerOf(state, params);
  const session = state.add('checkout.session', {
    mode,
    status: 'open',
    payment_status: 'unpaid',
    customer: customer.id,
    currency,
    item,
    client_reference_id: textOf(params, 'client_reference_id') ?? null,
    metadata: metadataOf(params),
    amount_subtotal: amount,
    amount_total: amount,
    payment_intent: null,
    subscription: null,
    url: null,
    success_url: required(params, 'success_url'),
    cancel_url: textOf(params, 'cancel_url') ?? '',
    inner_metadata: metadataOf(inner),
    saves_card: mode === 'subscription' || textOf(inner, 'setup_future_usage') === 'off_session',
  });
  session.url = `${state.baseUrl}/c/pay/${session.id}`;
  return session;
}

function soldOf(state: State, line: Params) {
  const quantity = wholeOf(line, 'quantity');
  const id = textOf(line, 'price');
  if (id !== undefined) {
    const price = activePrice(state, id, 'line_items[0][price]');
    const item = { name: price.product_name, price: id };
    return { currency: price.currency, amount: price.unit_amount * quantity, item };
  }
  const data = membersOf(line, 'price_data');
  const name = required(membersOf(data, 'product_data'), 'name');
  const amount = wholeOf(data, 'unit_amount') * quantity;
  return { currency: required(data, 'currency'), amount, item: { name, price: null } };
}

export function metadataOf(params: Params): Metadata {
  const given = Object.entries(membersOf(params, 'metadata'));
  return Object.fromEntries(
    given.filter((entry): entry is [string, string] => {
      return typeof entry[1] === 'string';
    }),
  );
}

/**
 * The customer completes the payment page; `later`: the money is still on its way, and the first
 * invoice of a subscription is not paid.
 */
export function completeSession(state: State, id: string, how: 'now' | 'later'): CheckoutSession {
  const session = openSession(state, id);
  const method = session.saves_card ? saveCard(state, session.customer) : undefined;
  session.status = 'complete';
  session.url = null;
  if (session.mode === 'subscription') {
    const price = state.get('price', session.item.price ?? '');
    const { customer, inner_metadata: metadata } = session;
    if (method && how === 'later') method.declines = true;
    session.subscription = beginSubscription(state, { customer, price, metadata }).id;
    session.payment_status = how === 'now' ? 'paid' : 'unpaid';
  } else {
    const { amount_total: amount, currency, customer, inner_metadata: metadata } = session;
    const payment = { amount, currency, customer, method, metadata };
    const intent = how === 'now' ? pay(state, payment) : openPayment(state, payment, 'processing');
    session.payment_intent = intent.id;
    session.payment_status = how === 'now' ? 'paid' : 'unpaid';
  }
  state.emit('checkout.session.completed', session);
  return session;
}

/** @throws StripeRefusal unless the session can still be paid */
function openSession(state: State, id: string): CheckoutSession {
  const session = state.get('checkout.session', id);
  if (session.status === 'open') return session;
  throw invalid(`The session is ${session.status}.`);
}

/** The money of a session that was completed `later` arrives, or does not. */
export function settleSession(state: State, id: string, succeeds: boolean): void {
  const session = state.get('checkout.session', id);
  const intent = state.get('payment_intent', session.payment_intent ?? '');
  completePayment(state, intent, succeeds);
  if (succeeds) session.payment_status = 'paid';
  const outcome = succeeds ? 'succeeded' : 'failed';
  state.emit(`checkout.session.async_payment_${outcome}`, session);
}

/** POST /v1/checkout/sessions/:id/expire */
export function expireSession(state: State, id: string): CheckoutSession {
  const session = openSession(state, id);
  session.status = 'expired';
  session.url = null;
  state.emit('checkout.session.expired', session);
  return session;
}
