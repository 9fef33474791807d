import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  cardOf,
  openDispute,
  removeCard,
  saveCard,
} from '../../../../simulators/stripe/payments.ts';
import { auditAfterwards, openBillingFixture } from '../../../test/billing/billing-fixture.ts';
import { assertRejectsWith } from '../../../test/billing/rejects.ts';
import { sql } from '../../../test/task-fixtures.ts';
import { disableAccount } from '../../accounts/accounts.ts';
import { createEndpoint } from '../../webhooks/endpoints.ts';
import { type CreditOrder, listOrders } from '../credit-order.ts';
import { knownCustomer } from '../customers.ts';
import { settleOrder } from '../settle-order.ts';
import type { BillingDeps } from '../stripe-client.ts';
import { CHARGE_SECONDS, orderReload, stopReload } from './reload.ts';
import { readLowBalance, setAlert, setReload } from './settings.ts';
import { mailBalances, reloadBalances } from './watch.ts';

const fixture = await openBillingFixture({ retries: 0 });
auditAfterwards(fixture);

const RELOAD = { pack_id: 'small', below: 500, monthly_limit: 2500 };

async function watch(): Promise<void> {
  await reloadBalances(fixture.watched, fixture.deps);
  await mailBalances(fixture.watched);
}

test('a lost response of the payment charges the card once', async () => {
  const accountId = await fixture.customerWith(100);
  await setReload(fixture.deps, accountId, RELOAD);
  fixture.simulator.loseResponses(2);
  await watch();
  assert.equal((await fixture.balance(accountId)).available, 100);
  await fixture.database.setClock(180);
  await fixture.settled();
  await watch();
  await fixture.database.setClock(0);
  assert.equal((await fixture.balance(accountId)).available, 1100);
  const customer = await customerOf(accountId);
  const payments = fixture.simulator.state.all('payment_intent');
  assert.equal(payments.filter((payment) => payment.customer === customer).length, 2);
});

test('a payment whose response was lost for a day is found by its order', async () => {
  const accountId = await fixture.customerWith(100);
  await setReload(fixture.deps, accountId, RELOAD);
  fixture.simulator.loseResponses(2);
  await watch();
  await fixture.withoutEvents(async () => {
    await fixture.database.setClock(2 * 86_400);
    await fixture.settled();
  });
  await fixture.database.setClock(0);
  assert.equal((await fixture.balance(accountId)).available, 1100);
});

async function customerOf(accountId: string): Promise<string> {
  return (await knownCustomer(fixture.deps.db, accountId, fixture.deps.scope)) ?? '';
}

function paymentsOf(order: CreditOrder): number {
  const payments = fixture.simulator.state.all('payment_intent');
  return payments.filter(({ metadata }) => metadata.order === order.id).length;
}

/** An order that is not paid yet of an account with a card, and how to settle it. */
async function reloadOrdered() {
  const accountId = await fixture.customerWith(100);
  await setReload(fixture.deps, accountId, RELOAD);
  const id = (await orderReload(fixture.deps, accountId)) ?? '';
  return { accountId, id, settle: () => settleOrder(fixture.deps, id) };
}

test('the card of an account that was closed meanwhile is not charged', async () => {
  const { accountId, settle } = await reloadOrdered();
  await disableAccount(fixture.deps.db, accountId);
  const order = await settle();
  assert.deepEqual([order.state, paymentsOf(order)], ['failed', 0]);
});

test('an order that has failed is not paid later, with another card', async () => {
  const { accountId, settle } = await reloadOrdered();
  const { state } = fixture.simulator;
  const customer = await customerOf(accountId);
  removeCard(state, customer);
  assert.equal((await settle()).failure, 'no card is saved');
  saveCard(state, customer);
  const order = await settle();
  assert.deepEqual(
    [order.state, order.failure, paymentsOf(order)],
    ['failed', 'no card is saved', 0],
  );
});

/** Stripe, which refuses the next charge and makes it all the same, when `appear` is called. */
function refusing(failure: object) {
  const { paymentIntents } = fixture.deps.stripe;
  let appear: () => Promise<unknown> = () => Promise.reject(new Error('nothing was sent'));
  const deps = depsWith({
    create: (...given) => {
      appear = () => paymentIntents.create(...given);
      throw Object.assign(new Error('simulated'), failure);
    },
  });
  return { deps, appear: () => appear() };
}

/** Stripe with other calls for payments. */
function depsWith(calls: Partial<BillingDeps['stripe']['paymentIntents']>): BillingDeps {
  const { stripe } = fixture.deps;
  const paymentIntents = Object.assign(Object.create(stripe.paymentIntents), calls);
  return { ...fixture.deps, stripe: Object.assign(Object.create(stripe), { paymentIntents }) };
}

test('a payment that waits for the absent customer stays pending until it is canceled', async () => {
  const { accountId, id, settle } = await reloadOrdered();
  const { state } = fixture.simulator;
  const card = cardOf(state, await customerOf(accountId));
  if (card) card.declines = true;
  const broken = depsWith({
    cancel: async (payment) => {
      Object.assign(state.get('payment_intent', payment), { status: 'requires_action' });
      throw new Error('Stripe is down');
    },
  });
  await assert.rejects(settleOrder(broken, id));
  assert.equal((await fixture.order(id)).stripe_id, null);
  assert.equal((await settle()).state, 'failed');
});

test('a charge that another process is making now does not fail the order', async () => {
  const { id, settle } = await reloadOrdered();
  const inUse = { type: 'StripeInvalidRequestError', statusCode: 409 };
  await assert.rejects(settleOrder(refusing(inUse).deps, id), inUse);
  assert.equal((await fixture.order(id)).state, 'pending');
  assert.equal((await settle()).booked, 1000);
});

const REFUSED = { type: 'StripeInvalidRequestError', statusCode: 400 };

test('a payment that Stripe says it refused is found a day later, if it was made', async (t) => {
  t.after(() => fixture.database.setClock(0));
  const { id } = await reloadOrdered();
  const { deps, appear } = refusing(REFUSED);
  assert.equal((await settleOrder(deps, id)).state, 'failed');
  await fixture.database.setClock(CHARGE_SECONDS + 1);
  await fixture.settled();
  await fixture.withoutEvents(appear);
  await fixture.database.setClock(86_460 + CHARGE_SECONDS);
  await fixture.settled();
  const order = await fixture.order(id);
  assert.deepEqual([order.state, order.booked, paymentsOf(order)], ['paid', 1000, 1]);
});

const CHARGE = 'POST payment_intents';

test('a charge is found before its order fails because the card was removed', async (t) => {
  t.after(() => fixture.simulator.webhooks.release());
  const { accountId, id, settle } = await reloadOrdered();
  fixture.simulator.webhooks.hold();
  fixture.simulator.failNext({ kind: 'lost', call: CHARGE }, 2); // the package sends a call that broke off again
  await assert.rejects(settle());
  removeCard(fixture.simulator.state, await customerOf(accountId));
  const order = await settle();
  assert.deepEqual([order.state, order.booked, paymentsOf(order)], ['paid', 1000, 1]);
  await fixture.change(accountId, -1000);
  saveCard(fixture.simulator.state, await customerOf(accountId));
  await setReload(fixture.deps, accountId, { ...RELOAD, monthly_limit: 1999 });
  await watch();
  fixture.simulator.webhooks.release();
  await fixture.settled();
  assert.equal((await fixture.order(id)).booked, 1000);
  assert.equal((await listOrders(fixture.deps.db, { accountId, limit: 9 })).length, 2);
});

test('a failed order counts as spent until its payment was looked for again', async (t) => {
  t.after(() => fixture.database.setClock(0));
  const { accountId, id, settle } = await reloadOrdered();
  const { deps, appear } = refusing(REFUSED);
  assert.equal((await settleOrder(deps, id)).state, 'failed');
  const order = async () => {
    await setReload(fixture.deps, accountId, { ...RELOAD, monthly_limit: 1999 });
    return orderReload(fixture.deps, accountId);
  };
  await settle(); // too early to know
  assert.equal(await order(), undefined);
  await fixture.withoutEvents(appear);
  await fixture.database.setClock(CHARGE_SECONDS + 1);
  assert.equal(await order(), undefined, 'nobody has looked yet');
  await fixture.settled();
  assert.equal((await fixture.order(id)).booked, 1000);
  await fixture.change(accountId, -1000);
  assert.equal(await order(), undefined, 'the limit of the month');
});

test('a failed order without a payment makes room for the next one', async (t) => {
  t.after(() => fixture.database.setClock(0));
  const { accountId, id, settle } = await reloadOrdered();
  assert.equal((await settleOrder(refusing(REFUSED).deps, id)).state, 'failed');
  await setReload(fixture.deps, accountId, { ...RELOAD, monthly_limit: 1999 });
  await fixture.database.setClock(CHARGE_SECONDS + 1);
  await fixture.settled();
  await watch();
  assert.equal((await fixture.balance(accountId)).available, 1100);
  assert.equal((await settle()).may_be_paid_until, null, 'looked for once, and not again');
});

test('a purchase that was paid and not booked counts towards the limit', async () => {
  const { accountId, id, settle } = await reloadOrdered();
  const customer = await customerOf(accountId);
  const { state } = fixture.simulator;
  fixture.simulator.failNext({ kind: 'lost', call: CHARGE }, 2);
  await fixture.withoutEvents(() => assert.rejects(settle()));
  for (const payment of state.all('payment_intent')) {
    if (payment.metadata.order === id) payment.amount = 1;
  }
  removeCard(state, customer);
  assert.equal((await settle()).state, 'mismatched');
  saveCard(state, customer);
  await setReload(fixture.deps, accountId, { ...RELOAD, monthly_limit: 1999 });
  assert.equal(await orderReload(fixture.deps, accountId), undefined);
});

test('an error that Stripe repeats under the key of a charge ends the order', async () => {
  const { accountId, settle } = await reloadOrdered();
  fixture.simulator.failNext({ kind: 'saved-500', call: CHARGE });
  await assert.rejects(settle(), { statusCode: 500 });
  const order = await settle();
  assert.deepEqual(
    [order.state, order.failure, paymentsOf(order)],
    ['failed', 'Stripe failed to charge the card', 0],
  );
  const { auto_reload: reload } = await readLowBalance(fixture.deps.db, accountId);
  assert.equal(reload?.stopped, 'Stripe failed to charge the card');
  assert.equal((await settle()).state, 'failed');
  assert.equal(paymentsOf(order), 0);
});

test('a charge that was made although Stripe repeats an error is booked', async () => {
  const { accountId, settle } = await reloadOrdered();
  fixture.simulator.failNext({ kind: 'saved-500', call: CHARGE, isDone: true });
  await fixture.withoutEvents(() => assert.rejects(settle(), { statusCode: 500 }));
  const order = await settle();
  assert.deepEqual([order.state, order.booked, paymentsOf(order)], ['paid', 1000, 1]);
  const { auto_reload: reload } = await readLowBalance(fixture.deps.db, accountId);
  assert.equal(reload?.stopped, null);
});

test('errors of Stripe that do not end are not waited for', async (t) => {
  t.after(() => fixture.database.setClock(0));
  const { settle } = await reloadOrdered();
  fixture.simulator.failNext({ kind: 'outage', call: CHARGE }, 2);
  await assert.rejects(settle(), { statusCode: 500 });
  await fixture.database.setClock(CHARGE_SECONDS + 1);
  assert.equal((await settle()).failure, 'Stripe failed to charge the card');
});

test('a mail and an event are written once per shortage, however many processes look', async () => {
  const { db } = fixture.deps;
  const accountId = await fixture.customerWith(100);
  const owner = { accountId, mode: 'live', by: 'a test' } as const;
  await createEndpoint(db, owner, { url: null, description: null, events: ['credits.low'] });
  await setAlert(db, accountId, 500);
  await Promise.all([watch(), watch(), watch()]);
  await watch();
  assert.deepEqual(await fixture.mailsTo(accountId), ['Your balance is low: 100 credits']);
  await fixture.change(accountId, 900);
  await watch();
  await fixture.change(accountId, -900);
  await watch();
  assert.equal((await fixture.mailsTo(accountId)).length, 2);
  const event = { available_credits: 100, below_credits: 500 };
  const events = await sql<{ data: object }>(db, 'select data from webhook_deliveries');
  assert.deepEqual(
    events.map(({ data }) => data),
    [event, event],
  );
});

test('a pack is bought once when the balance falls, within the limit of the month', async () => {
  const accountId = await fixture.customerWith(100);
  await setReload(fixture.deps, accountId, RELOAD);
  await Promise.all(Array.from({ length: 8 }, watch));
  assert.equal((await fixture.balance(accountId)).available, 1100);
  for (const expected of [1100, 100]) {
    await fixture.change(accountId, -1000);
    await watch();
    assert.equal((await fixture.balance(accountId)).available, expected);
  }
  assert.equal((await listOrders(fixture.deps.db, { accountId, limit: 10 })).length, 3);
});

test('a card that is declined stops it, and the customer is told once', async () => {
  const accountId = await fixture.customerWith(100);
  await setReload(fixture.deps, accountId, RELOAD);
  const customer = (await knownCustomer(fixture.deps.db, accountId, fixture.deps.scope)) ?? '';
  const card = cardOf(fixture.simulator.state, customer);
  if (card) card.declines = true;
  await watch();
  await watch();
  await watch();
  assert.deepEqual(await fixture.mailsTo(accountId), ['Auto-reload is stopped']);
  const { auto_reload: reload } = await readLowBalance(fixture.deps.db, accountId);
  assert.equal(reload?.stopped, 'insufficient_funds');
  const [order] = await listOrders(fixture.deps.db, { accountId, limit: 1 });
  assert.deepEqual([order?.kind, order?.state], ['reload', 'failed']);
  if (card) card.declines = false;
  await setReload(fixture.deps, accountId, RELOAD);
  await watch();
  assert.equal((await fixture.balance(accountId)).available, 1100);
});

test('a second stop gets a mail of its own', async () => {
  const accountId = await fixture.customerWith(100);
  for (let stops = 0; stops < 2; stops += 1) {
    await setReload(fixture.deps, accountId, RELOAD);
    const why = 'insufficient_funds';
    await fixture.deps.db.transaction((tx) => stopReload(tx, fixture.deps, { accountId, why }));
  }
  assert.equal((await fixture.mailsTo(accountId)).length, 2);
});

test('a dispute stops it', async () => {
  const accountId = await fixture.customerWith(999);
  await setReload(fixture.deps, accountId, RELOAD);
  const [order] = await listOrders(fixture.deps.db, { accountId, limit: 1 });
  openDispute(fixture.simulator.state, order?.stripe_payment ?? '');
  await fixture.settled();
  await watch();
  assert.deepEqual(await fixture.balance(accountId), { available: 0, debt: 1 });
  const { auto_reload: reload } = await readLowBalance(fixture.deps.db, accountId);
  assert.equal(reload?.stopped, 'a payment is disputed');
});

test('it can be switched on only where it could work', async () => {
  const accountId = await fixture.customerWith(100);
  const bad = [
    { ...RELOAD, pack_id: 'gone' },
    { ...RELOAD, monthly_limit: 999 },
  ];
  for (const wanted of bad) {
    await assertRejectsWith(setReload(fixture.deps, accountId, wanted), 'invalid_request');
  }
  const withoutCard = await fixture.customer();
  await assertRejectsWith(setReload(fixture.deps, withoutCard, RELOAD), 'invalid_request');
});
