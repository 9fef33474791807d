import assert from 'node:assert/strict';
import { test } from 'node:test';
import { completeSession } from '../../../../simulators/stripe/checkout.ts';
import { declineCard } from '../../../../simulators/stripe/payments.ts';
import {
  cancelAtEnd,
  changePrice,
  invoiceNow,
  renew,
  retryInvoices,
} from '../../../../simulators/stripe/subscriptions.ts';
import { openBillingFixture, withCalls } from '../../../test/billing/billing-fixture.ts';
import { assertRejectsWith } from '../../../test/billing/rejects.ts';
import { recordingLog } from '../../../test/recording-log.ts';
import { sql } from '../../../test/task-fixtures.ts';
import { until } from '../../../test/until.ts';
import { reopenAccount } from '../../accounts/closing.ts';
import { audit } from '../../operator/audit.ts';
import { enableByOperator } from '../../operator/verbs/accounts.ts';
import { closeAccount } from '../../sign-in/deletion.ts';
import { listOrders } from '../credit-order.ts';
import { wakePayments } from '../payment-pages.ts';
import { settleOrder } from '../settle-order.ts';
import type { BillingDeps } from '../stripe-client.ts';
import { openPortal } from './portal.ts';
import { settleSubscription } from './settle-subscription.ts';
import { subscribe } from './subscribe.ts';
import { readSubscription, subscriptionOf } from './subscription.ts';

const fixture = await openBillingFixture();
const { db } = fixture.database;
const { state, available, subscribed, priceOf } = fixture;

async function read(id: string) {
  const found = await readSubscription(db, id);
  if (!found) throw new Error(`there is no subscription ${id}`);
  const { state, plan_id: plan, ends_at: endsAt } = found;
  return { state, plan, endsAt };
}

test('the first period is granted by its invoice, once, and the next one by the next invoice', async () => {
  const { accountId, id, stripe } = await subscribed();
  assert.equal((await read(id)).state, 'active');
  assert.equal((await fixture.balance(accountId)).available, 3000);
  for (const event of fixture.simulator.webhooks.events)
    await fixture.simulator.webhooks.send(event);
  assert.equal(await available(accountId), 3000);
  renew(state, stripe);
  assert.equal(await available(accountId), 6000);
  const orders = await listOrders(db, { accountId, limit: 10 });
  assert.deepEqual(
    orders.map(({ kind, credits, subscription_id: of }) => [kind, credits, of]),
    [
      ['invoice', 3000, id],
      ['invoice', 3000, id],
    ],
  );
  assert.ok(orders.every(({ expires_at: expiry }) => expiry !== null));
});

test('a renewal whose event was lost is found when the period is over', async () => {
  const { accountId, stripe } = await subscribed();
  await fixture.withoutEvents(() => renew(state, stripe));
  await fixture.settledAfter(86_460);
  assert.equal((await fixture.balance(accountId)).available, 6000);
});

test('a renewal that fails is visible as past due, and brings its credits when it is paid', async () => {
  const { accountId, id, stripe, customer } = await subscribed();
  declineCard(state, customer);
  renew(state, stripe);
  await fixture.settled();
  assert.equal((await read(id)).state, 'past_due');
  assert.equal((await fixture.balance(accountId)).available, 3000);
  declineCard(state, customer, false);
  retryInvoices(state, stripe);
  await fixture.settled();
  assert.equal((await read(id)).state, 'active');
  assert.equal((await fixture.balance(accountId)).available, 6000);
});

test('an upgrade in the portal brings the difference now; downgrades wait for the next period', async () => {
  const { accountId, id, stripe } = await subscribed();
  await openPortal(fixture.deps, accountId);
  await openPortal(fixture.deps, accountId);
  const [made, ...others] = state.all('billing_portal.configuration');
  assert.deepEqual(made?.at_period_end, ['decreasing_item_amount', 'shortening_interval']);
  assert.deepEqual(others, []);
  changePrice(state, stripe, await priceOf('studio'));
  assert.equal(await available(accountId), 9000);
  assert.equal((await read(id)).plan, 'studio');
});

test('a cancelled subscription says when it ends, and then ends', async () => {
  const { accountId, id, stripe } = await subscribed();
  cancelAtEnd(state, stripe, true);
  await fixture.settled();
  assert.ok((await read(id)).endsAt);
  renew(state, stripe);
  await fixture.settled();
  assert.equal((await read(id)).state, 'canceled');
  assert.equal((await fixture.balance(accountId)).available, 3000);
  await fixture.subscribe(accountId, 'studio'); // another one may begin
});

test('an account has one subscription; an abandoned Checkout is reused or closed', async () => {
  const { accountId } = await subscribed();
  const again = { accountId, planId: 'studio' };
  await assertRejectsWith(subscribe(fixture.deps, again), 'invalid_request');
  const other = await fixture.customer();
  const first = await fixture.subscribe(other, 'hobby');
  assert.deepEqual(await fixture.subscribe(other, 'hobby'), first);
  const second = await fixture.subscribe(other, 'studio');
  assert.equal(state.get('checkout.session', first.session).status, 'expired');
  completeSession(state, second.session, 'now');
  assert.equal(await available(other), 9000);
});

test('two windows that open a Checkout at once leave one that can be paid', async () => {
  const accountId = await fixture.customer();
  const { stripe } = fixture.deps;
  const { promise: secondIsOpen, resolve: goOn } = Promise.withResolvers<void>();
  const create: typeof stripe.checkout.sessions.create = async (...given) => {
    await secondIsOpen;
    return stripe.checkout.sessions.create(...given);
  };
  const slow = withCalls(fixture.deps, { checkout: { sessions: { create } } });
  const first = subscribe(slow, { accountId, planId: 'hobby' });
  const isMade = async () => (await subscriptionOf(db, accountId))?.state;
  await until(isMade, (state) => state === 'opening');
  const second = await fixture.subscribe(accountId, 'hobby');
  goOn();
  await assertRejectsWith(first, 'invalid_request');
  const { customer } = state.get('checkout.session', second.session);
  const open = state
    .all('checkout.session')
    .filter((one) => one.customer === customer && one.status === 'open');
  const sessions = open.map(({ id }) => id);
  assert.deepEqual(sessions, [second.session]);
  completeSession(state, second.session, 'now');
  assert.equal(await available(accountId), 3000);
});

test('the subscription of an erased account is cancelled at Stripe', async () => {
  const { accountId, id, stripe } = await subscribed();
  await sql(
    db,
    'update accounts set disabled_at = clock_now(), erased_at = clock_now() where id = $1',
    [accountId],
  );
  await db.transaction((tx) => wakePayments(tx, accountId));
  await fixture.settled();
  assert.equal((await read(id)).state, 'canceled');
  assert.equal(state.get('subscription', stripe).status, 'canceled');
});

/** The owner closes the account, or it is reopened. */
async function change(accountId: string, to: 'closed' | 'reopened') {
  const work = { closed: closeAccount, reopened: reopenAccount }[to];
  await db.transaction(async (tx) => {
    await work(tx, accountId);
    await wakePayments(tx, accountId);
  });
  await fixture.settled();
}

test('the plan of a closed account is not renewed, and continues when it is reopened', async () => {
  const { accountId, id, stripe } = await subscribed();
  const atStripe = () => {
    const { status, cancel_at_period_end: ends } = state.get('subscription', stripe);
    return [status, ends];
  };
  await change(accountId, 'closed');
  assert.deepEqual(atStripe(), ['active', true]);
  await change(accountId, 'reopened');
  assert.deepEqual(atStripe(), ['active', false]);
  assert.deepEqual([(await read(id)).state, (await read(id)).endsAt], ['active', null]);
  await change(accountId, 'closed');
  renew(state, stripe);
  await fixture.settled();
  assert.equal((await read(id)).state, 'canceled');
  await change(accountId, 'reopened');
  assert.equal((await fixture.balance(accountId)).available, 3000);
});

test('the plan of a closed account continues at once when an operator enables the account', async () => {
  const { accountId, stripe } = await subscribed();
  await change(accountId, 'closed');
  const enabling = { command: 'accounts enable', actor: 'ada', reason: 'ticket 96' };
  await enableByOperator(db, enabling, accountId);
  await fixture.settled(); // its period may end before the next daily look
  assert.equal(state.get('subscription', stripe).cancel_at_period_end, false);
});

test('a plan that its customer has cancelled stays cancelled after the account is reopened', async () => {
  const { accountId, stripe } = await subscribed();
  cancelAtEnd(state, stripe, true);
  await fixture.settled();
  await change(accountId, 'closed');
  await change(accountId, 'reopened');
  assert.equal(state.get('subscription', stripe).cancel_at_period_end, true);
});

test('an unpaid plan is cancelled at once when its account is closed', async () => {
  const { accountId, id, stripe } = await subscribed();
  state.get('subscription', stripe).status = 'past_due';
  await change(accountId, 'closed');
  assert.equal((await read(id)).state, 'canceled');
});

/** A price at Stripe that somebody made in its dashboard. */
async function foreignPrice() {
  const { id } = await fixture.deps.stripe.prices.create({
    currency: 'usd',
    unit_amount: 700,
    recurring: { interval: 'month' },
    product_data: { name: 'made by hand' },
  });
  return state.get('price', id);
}

test('all lines of an invoice count, however many it has', async () => {
  const { accountId, stripe } = await subscribed();
  const line = { price: await priceOf('hobby'), amount: 20 };
  const lines = Array.from({ length: 125 }, () => line);
  invoiceNow(state, stripe, lines);
  assert.equal(await available(accountId), 3000 + 125 * 30);
});

test('a line whose price no plan has brings nothing, and operators see which', async () => {
  const { accountId, stripe } = await subscribed();
  const foreign = await foreignPrice();
  const strange = { price: foreign, amount: 700 };
  const mixed = invoiceNow(state, stripe, [
    { price: await priceOf('hobby'), amount: 2000 },
    strange,
  ]);
  const unknown = invoiceNow(state, stripe, [strange, { ...strange, amount: 100 }]);
  assert.equal(await available(accountId), 6000);
  const orders = await listOrders(db, { accountId, limit: 10 });
  const seen = (invoice: string) => {
    const order = orders.find(({ stripe_id: id }) => id === invoice);
    return [order?.state, order?.credits, order?.booked, order?.price, order?.failure];
  };
  const lines = (amount: number) =>
    `no plan explains lines of ${amount} usd (price: ${foreign.id})`;
  assert.deepEqual(seen(mixed.id), ['paid', 3000, 3000, 2700, lines(700)]);
  assert.deepEqual(seen(unknown.id), ['mismatched', 0, 0, 800, lines(800)]);
  for (const { id } of orders) await settleOrder(fixture.deps, id);
  const again = await listOrders(db, { accountId, limit: 10 });
  assert.deepEqual(
    again.map(({ failure }) => failure),
    orders.map(({ failure }) => failure),
  );
  assert.deepEqual((await audit(db)).problems, []);
});

test('an invoice that brings too little is logged once, even if the first process dies', async () => {
  const { accountId, id, stripe } = await subscribed();
  const strange = { price: await foreignPrice(), amount: 700 };
  invoiceNow(state, stripe, [{ price: await priceOf('hobby'), amount: 2000 }, strange]);
  const { log, lines } = recordingLog();
  const deps = { ...fixture.deps, log };
  await assert.rejects(settleSubscription(dying(deps), id), /died/);
  const [order] = await listOrders(deps.db, { accountId, limit: 1 });
  for (let n = 0; n < 2; n += 1) await settleOrder(deps, order?.id ?? '');
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? '', /no plan explains lines of 700 usd/);
});

/** A process that dies after it has made the orders of invoices, before it settles them. */
function dying(deps: BillingDeps): BillingDeps {
  const retrieve = () => Promise.reject(new Error('died'));
  return withCalls(deps, { invoices: { retrieve } });
}

test('lines that no plan explains are shown also when the account is closed', async () => {
  const { accountId, stripe } = await subscribed();
  const strange = { price: await foreignPrice(), amount: 700 };
  invoiceNow(state, stripe, [strange]);
  await sql(db, 'insert into account_deletions (account_id) values ($1)', [accountId]);
  await fixture.settled();
  const [order] = await listOrders(db, { accountId, limit: 1 });
  assert.equal(order?.state, 'mismatched');
  assert.match(order.failure ?? '', /no plan explains lines of 700 usd/);
});
