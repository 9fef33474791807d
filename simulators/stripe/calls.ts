import { createSession, expireSession, metadataOf, SESSION_PARAMS } from './checkout.ts';
import {
  entriesOf,
  invalid,
  membersOf,
  type Params,
  required,
  textOf,
  textsOf,
  wholeOf,
} from './form.ts';
import { activePrice, customerOf, named } from './named.ts';
import type { Invoice, PaymentIntent, StripeObject } from './objects.ts';
import { cardError, pay, refundsOf } from './payments.ts';
import { newObjectId, type State } from './state.ts';
import { cancelAtEnd, endSubscription } from './subscriptions.ts';

/** A call of Stripe's API: its path, its parameters and what it does. */
export interface Call {
  method: 'GET' | 'POST' | 'DELETE';
  path: RegExp;
  params: readonly string[];
  work(state: State, id: string, params: Params): object;
  /** Whether a restricted key without further permissions is refused. */
  isForbidden?: true;
}

function call(
  method: Call['method'],
  path: string,
  params: readonly string[],
  work: Call['work'],
): Call {
  return { method, path: new RegExp(`^/v1/${path.replace(':id', '([^/]+)')}$`), params, work };
}

/** The calls that Framewright uses, as documented at docs.stripe.com/api. */
export const CALLS: readonly Call[] = [
  call('POST', 'customers', ['email', 'metadata[*]'], (state) =>
    state.add('customer', { invoice_settings: { default_payment_method: null }, balance: 0 }),
  ),
  {
    ...call('GET', 'account', [], ({ account }) => ({ id: account, object: 'account' })),
    isForbidden: true,
  },
  call('GET', 'webhook_endpoints', ['limit'], (state) => listOf(state.webhookEndpoints)),
  call('GET', 'customers/:id', [], (state, id) => {
    const { deleted, ...customer } = state.get('customer', id);
    return deleted ? { id, object: 'customer', deleted } : customer;
  }),
  call('GET', 'customers/:id/payment_methods', ['limit'], (state, id) =>
    listOf(
      state.get('customer', id).deleted
        ? []
        : state.all('payment_method').filter(({ customer }) => customer === id),
    ),
  ),
  call(
    'POST',
    'prices',
    ['currency', 'unit_amount', 'recurring[interval]', 'product_data[name]', 'metadata[*]'],
    createPrice,
  ),
  call('GET', 'prices/:id', [], (state, id) => state.get('price', id)),
  call('POST', 'checkout/sessions', SESSION_PARAMS, (state, _id, params) =>
    createSession(state, params),
  ),
  call('GET', 'checkout/sessions', ['payment_intent', 'limit'], (state, _id, params) => {
    const intent = required(params, 'payment_intent');
    return listOf(state.all('checkout.session').filter((one) => one.payment_intent === intent));
  }),
  call('GET', 'checkout/sessions/:id', [], (state, id) => state.get('checkout.session', id)),
  call('POST', 'checkout/sessions/:id/expire', [], (state, id) => expireSession(state, id)),
  call(
    'POST',
    'payment_intents',
    [
      'amount',
      'currency',
      'customer',
      'payment_method',
      'confirm',
      'off_session',
      'description',
      'metadata[*]',
      'automatic_payment_methods[enabled]',
      'automatic_payment_methods[allow_redirects]',
    ],
    createPayment,
  ),
  call(
    'GET',
    'payment_intents',
    ['created[gte]', 'created[lte]', 'limit', 'starting_after'],
    listPayments,
  ),
  call('GET', 'payment_intents/:id', [], (state, id) => state.get('payment_intent', id)),
  call('POST', 'payment_intents/:id/cancel', [], cancelPayment),
  call('GET', 'charges/:id', [], (state, id) => state.get('charge', id)),
  call('GET', 'refunds', ['charge', 'limit', 'starting_after'], (state, _id, params) => {
    const charge = state.get('charge', required(params, 'charge'));
    return pageAfter(refundsOf(state, charge), params);
  }),
  call('GET', 'disputes/:id', [], (state, id) => state.get('dispute', id)),
  call('GET', 'disputes', ['charge', 'limit'], (state, _id, params) =>
    listOf(state.all('dispute').filter(({ charge }) => charge === required(params, 'charge'))),
  ),
  call('GET', 'subscriptions/:id', [], (state, id) => state.get('subscription', id)),
  call('POST', 'subscriptions/:id', ['cancel_at_period_end', 'metadata[*]'], updateSubscription),
  call('DELETE', 'subscriptions/:id', [], (state, id) => endSubscription(state, id)),
  call('GET', 'invoices', ['customer', 'limit', 'starting_after'], (state, _id, params) => {
    const found = state.all('invoice').filter(({ customer }) => customer === params.customer);
    return pageAfter(found.map(shownInvoice), params);
  }),
  call('GET', 'invoices/:id', [], (state, id) => shownInvoice(state.get('invoice', id))),
  call('GET', 'invoices/:id/lines', ['limit', 'starting_after'], (state, id, params) =>
    pageAfter(state.get('invoice', id).lines.data, params),
  ),
  call(
    'GET',
    'invoice_payments',
    ['invoice', 'limit', 'starting_after', 'payment[type]', 'payment[payment_intent]'],
    listInvoicePayments,
  ),
  call(
    'POST',
    'billing_portal/configurations',
    [
      'features[invoice_history][enabled]',
      'features[payment_method_update][enabled]',
      'features[subscription_cancel][enabled]',
      'features[subscription_cancel][mode]',
      'features[subscription_update][enabled]',
      'features[subscription_update][default_allowed_updates][]',
      'features[subscription_update][proration_behavior]',
      'features[subscription_update][schedule_at_period_end][conditions][][type]',
      'features[subscription_update][products][][product]',
      'features[subscription_update][products][][prices][]',
    ],
    createPortalConfiguration,
  ),
  call('GET', 'billing_portal/configurations/:id', [], (state, id) =>
    state.get('billing_portal.configuration', id),
  ),
  call(
    'POST',
    'billing_portal/sessions',
    ['customer', 'configuration', 'return_url'],
    createPortalSession,
  ),
];

function listOf(data: object[]): object {
  return pageOf(data, data.length);
}

/** How many of a list its owner shows, such as the lines of an invoice. */
const SHOWN = 10;

function pageOf(data: object[], limit: number): object {
  const has_more = data.length > limit;
  return { object: 'list', data: data.slice(0, limit), has_more, url: '/v1' };
}

/** A page of a list, by its parameters `limit` and `starting_after`. */
function pageAfter(list: Array<{ id: string }>, params: Params): object {
  const after = textOf(params, 'starting_after');
  const rest = list.slice(list.findIndex(({ id }) => id === after) + 1);
  return pageOf(rest, Number(textOf(params, 'limit') ?? 10));
}

function createPrice(state: State, _id: string, params: Params): object {
  const interval = required(membersOf(params, 'recurring'), 'interval');
  if (interval !== 'month' && interval !== 'year') throw invalid(`Invalid interval: ${interval}`);
  if (params.currency === 'xxx') throw invalid('Invalid currency: xxx.');
  return state.add('price', {
    active: true,
    product: newObjectId('prod_'),
    product_name: required(membersOf(params, 'product_data'), 'name'),
    currency: required(params, 'currency'),
    unit_amount: wholeOf(params, 'unit_amount'),
    recurring: { interval },
    metadata: metadataOf(params),
  });
}

/** Members of the metadata that are set to nothing are removed. */
function updateSubscription(state: State, id: string, params: Params): object {
  const subscription = state.get('subscription', id);
  if (subscription.status === 'canceled') throw invalid('A canceled subscription can only ...');
  const metadata = Object.entries({ ...subscription.metadata, ...metadataOf(params) });
  subscription.metadata = Object.fromEntries(metadata.filter(([, value]) => value !== ''));
  cancelAtEnd(state, id, required(params, 'cancel_at_period_end') === 'true');
  return subscription;
}

/**
 * Charges a saved card while the customer is away. Without types of payment, those that are enabled
 * in the dashboard are allowed, and some of them lead the customer to another page.
 */
function createPayment(state: State, _id: string, params: Params): PaymentIntent {
  const method = state.get('payment_method', required(params, 'payment_method'));
  if (required(params, 'confirm') !== 'true')
    throw invalid('only confirmed payments are simulated');
  const automatic = membersOf(params, 'automatic_payment_methods');
  const isAway = textOf(params, 'off_session') === 'true';
  if (!isAway || textOf(automatic, 'allow_redirects') !== 'never') {
    throw invalid('This payment may redirect your customer: you must provide a `return_url`.');
  }
  if (method.customer !== params.customer) {
    throw invalid('The payment method is not attached to this customer.');
  }
  const intent = pay(state, {
    amount: wholeOf(params, 'amount'),
    currency: required(params, 'currency'),
    customer: customerOf(state, params).id,
    method,
    metadata: metadataOf(params),
  });
  if (intent.status !== 'succeeded') throw cardError(intent);
  return intent;
}

function listPayments(state: State, _id: string, params: Params): object {
  const created = membersOf(params, 'created');
  const since = Number(textOf(created, 'gte') ?? 0);
  const until = Number(textOf(created, 'lte') ?? Number.POSITIVE_INFINITY);
  const found = state.all('payment_intent');
  return pageAfter(
    found.filter(({ created: at }) => at >= since && at <= until),
    params,
  );
}

function cancelPayment(state: State, id: string): PaymentIntent {
  const intent = state.get('payment_intent', id);
  if (intent.status === 'succeeded') throw invalid('This payment has succeeded.');
  intent.status = 'canceled';
  state.emit('payment_intent.canceled', intent);
  return intent;
}

/** An invoice as Stripe sends it, with its first lines and payments only. */
function shownInvoice(invoice: Invoice) {
  const { lines, payments } = invoice;
  return { ...invoice, lines: pageOf(lines.data, SHOWN), payments: pageOf(payments.data, SHOWN) };
}

function listInvoicePayments(state: State, _id: string, params: Params): object {
  const invoice = textOf(params, 'invoice');
  const intent = textOf(membersOf(params, 'payment'), 'payment_intent');
  const invoices = invoice === undefined ? state.all('invoice') : [state.get('invoice', invoice)];
  const found = invoices
    .flatMap(({ id, payments: { data } }) => data.map((one) => ({ ...one, invoice: id })))
    .filter(({ payment }) => intent === undefined || payment.payment_intent === intent);
  return pageAfter(found, params);
}

function createPortalConfiguration(state: State, _id: string, params: Params): object {
  const update = membersOf(membersOf(params, 'features'), 'subscription_update');
  const prices = entriesOf(update, 'products').flatMap((entry) => textsOf(entry, 'prices'));
  for (const price of prices) activePrice(state, price, 'features');
  const scheduled = entriesOf(membersOf(update, 'schedule_at_period_end'), 'conditions');
  const at_period_end = scheduled.map((entry) => required(entry, 'type'));
  return state.add('billing_portal.configuration', { active: true, at_period_end });
}

function createPortalSession(state: State, _id: string, params: Params): object {
  const session = state.add('billing_portal.session', {
    customer: customerOf(state, params).id,
    configuration: named(state, 'billing_portal.configuration', {
      id: required(params, 'configuration'),
      param: 'configuration',
    }).id,
    return_url: required(params, 'return_url'),
    url: '',
  });
  session.url = `${state.baseUrl}/p/session/${session.id}`;
  return session;
}

/**
 * The object with the members in `paths` replaced by the objects that they name. What Stripe leaves
 * out unless it is expanded is left out here too.
 */
export function expand(state: State, object: object, paths: string[]): object {
  const shown: Record<string, unknown> = { ...object };
  if (shown.object === 'list' && Array.isArray(shown.data) && !paths.includes('data')) {
    shown.data = shown.data.map((entry) => expand(state, Object(entry), []));
  }
  if (shown.object === 'invoice' && !paths.includes('payments')) delete shown.payments;
  if (shown.object === 'charge' && paths.includes('refunds')) {
    shown.refunds = pageOf(refundsOf(state, { id: String(shown.id) }), SHOWN);
  }
  for (const name of new Set(paths.map((path) => path.split('.')[0] ?? ''))) {
    const rest = paths
      .filter((path) => path.startsWith(`${name}.`))
      .map((path) => path.slice(name.length + 1));
    shown[name] = expandMember(state, shown[name], rest, name);
  }
  return shown;
}

function expandMember(state: State, value: unknown, rest: string[], name: string): unknown {
  if (value === undefined) throw invalid(`This property cannot be expanded (${name}).`);
  if (Array.isArray(value)) return value.map((entry) => expand(state, Object(entry), rest));
  if (typeof value !== 'string') return value;
  const found: StripeObject | undefined = state.find(value);
  return found ? expand(state, found, rest) : value;
}
