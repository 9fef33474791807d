import { completeSession } from './checkout.ts';
import { noSuch } from './form.ts';
import type { Subscription } from './objects.ts';
import { completePayment, openPayment } from './payments.ts';
import type { State } from './state.ts';
import { cancelAtEnd } from './subscriptions.ts';

/** What a page answers: HTML, or the address where the browser goes next. */
export type PageResponse = { html: string } | { location: string };

/** The pages that Stripe hosts: Checkout, Customer Portal, receipts. */
export function page(
  state: State,
  { path, action }: { path: string; action: string | undefined },
): PageResponse {
  const [, kind, , last = ''] = path.split('/');
  if (path.startsWith('/c/pay/')) return checkoutPage(state, last, action);
  if (path.startsWith('/p/session/')) return portalPage(state, last, action);
  if (kind === 'receipts') return html('Receipt', '<p>Paid. Thank you.</p>');
  throw noSuch('page', path);
}

function checkoutPage(state: State, id: string, action: string | undefined): PageResponse {
  const session = state.get('checkout.session', id);
  if (session.status !== 'open') {
    return html('Checkout', `<p>This payment page is ${session.status}.</p>`);
  }
  if (action === 'pay' || action === 'later') {
    completeSession(state, id, action === 'pay' ? 'now' : 'later');
    return { location: session.success_url };
  }
  const { amount_total: amount, currency, customer, inner_metadata: metadata } = session;
  if (action === 'fail' && session.mode === 'payment') {
    const payment = { amount, currency, customer, method: undefined, metadata };
    completePayment(state, openPayment(state, payment, 'processing'), false);
  }
  const declined = action === 'fail' ? '<p role="alert">Your card was declined.</p>' : '';
  return html(
    'Checkout',
    `<h2>${escaped(session.item.name)}</h2>
    <p class="price">${money(amount, currency)}</p>${declined}
    ${button('pay', 'Pay')} ${button('fail', 'Fail')} ${
      session.mode === 'payment' ? button('later', 'Pay by bank transfer') : ''
    }
    <p><a href="${escaped(session.cancel_url)}">Cancel</a></p>`,
  );
}

function portalPage(state: State, id: string, action: string | undefined): PageResponse {
  const session = state.get('billing_portal.session', id);
  const { customer } = session;
  if (action === 'return') return { location: session.return_url };
  const [subscription] = state
    .all('subscription')
    .filter((one) => one.customer === customer && one.status !== 'canceled');
  if (action === 'cancel' && subscription) {
    cancelAtEnd(state, subscription.id, true);
    return { location: session.url };
  }
  return html(
    'Customer Portal',
    `${subscription ? described(subscription) : '<p>No subscription.</p>'}
    ${button('return', 'Return')}`,
  );
}

function described({ items, status, cancel_at_period_end: ends }: Subscription): string {
  return `<h2>${escaped(items.data[0]?.price.product_name ?? '')}</h2>
    <p>${status}${ends ? ', ends with the period' : ''}</p>
    ${ends ? '' : button('cancel', 'Cancel at the period’s end')}`;
}

function button(action: string, label: string): string {
  const named = `name="action" value="${escaped(action)}"`;
  return `<form method="post"><button ${named}>${escaped(label)}</button></form>`;
}

/** Of a few currencies, such as UGX, Stripe's decimals are not those of Intl. */
function money(minor: number, currency: string): string {
  const format = new Intl.NumberFormat('en', { style: 'currency', currency });
  return format.format(minor / 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2));
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (mark) => `&#${mark.codePointAt(0)};`);
}

const STYLE = `body{font:16px/1.5 system-ui;max-width:26rem;margin:3rem auto;padding:0 1rem}
form{display:inline-block;margin:.25rem .25rem .25rem 0}button{font:inherit;padding:.5rem 1rem}
.price{font-size:2rem;margin:.5rem 0}`;

function html(title: string, body: string): PageResponse {
  return {
    html: `<!doctype html><html lang="en"><head><meta charset="utf-8">
<title>${title} (simulated)</title>
<meta name="viewport" content="width=device-width"><style>${STYLE}</style></head>
<body><main><h1>${title}</h1><p>No money moves here.</p>${body}</main></body></html>`,
  };
}
