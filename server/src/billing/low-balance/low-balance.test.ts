import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import {
  declineCard,
  openDispute,
  removeCard,
  saveCard,
} from '../../../../simulators/stripe/payments.ts';
import { openBillingFixture, withCalls } from '../../../test/billing/billing-fixture.ts';
import { sql } from '../../../test/task-fixtures.ts';
import { disableAccount } from '../../accounts/accounts.ts';
import { createEndpoint } from '../../webhooks/endpoints.ts';
import { type CreditOrder, listOrders } from '../credit-order.ts';
import { knownCustomer } from '../customers.ts';
import { settleOrder } from '../settle-order.ts';
import { CHARGE_SECONDS, orderReload } from './reload.ts';
import { readLowBalance, setAlert, setReload } from './settings.ts';
import { mailBalances, reloadBalances } from './watch.ts';

const fixture = await openBillingFixture({ retries: 0, auditsAllBut: [] });
const { deps, state, simulator } = fixture;
const { db } = deps;
const { setClock } = fixture.database;
afterEach(() => setClock(0));

const RELOAD = { pack_id: 'small', below: 500, monthly_limit: 2500 };
const ONCE_A_MONTH = { ...RELOAD, monthly_limit: 1999 };

async function watch(): Promise<void> {
  await reloadBalances(fixture.watched, deps);
  await mailBalances(fixture.watched);
}

/** An account that buys a pack automatically below 500 credits. */
async function reloading(credits = 100): Promise<string> {
  const accountId = await fixture.customerWith(credits);
  await setReload(deps, accountId, RELOAD);
  return accountId;
}

/** Why auto-reload is stopped; null: it isn't. */
async function stopped(accountId: string): Promise<string | null | undefined> {
  return (await readLowBalance(db, accountId)).auto_reload?.stopped;
}

test('a charge whose response was lost is found later, by the order that it names', async () => {
  const accountId = await reloading();
  simulator.loseResponses(2);
  await watch();
  await fixture.withoutEvents(async () => {
    await setClock(2 * 86_400);
    await fixture.settled();
  });
  assert.equal((await fixture.balance(accountId)).available, 1100);
});

async function customerOf(accountId: string): Promise<string> {
  return (await knownCustomer(db, accountId, deps.scope)) ?? '';
}

function paymentsOf(order: CreditOrder): number {
  const payments = state.all('payment_intent');
  return payments.filter(({ metadata }) => metadata.order === order.id).length;
}

/** An unpaid automatic order of an account with a card, and the function that settles it. */
async function reloadOrdered() {
  const accountId = await reloading();
  const id = (await orderReload(deps, accountId)) ?? '';
  return { accountId, id, settle: () => settleOrder(deps, id) };
}

test('the card of an account that was closed meanwhile is not charged', async () => {
  const { accountId, settle } = await reloadOrdered();
  await disableAccount(db, accountId);
  const order = await settle();
  assert.deepEqual([order.state, paymentsOf(order)], ['failed', 0]);
});

test('a failed order is not charged to another card later', async () => {
  const { accountId, settle } = await reloadOrdered();
  const customer = await customerOf(accountId);
  removeCard(state, customer);
  assert.equal((await settle()).failure, 'no card is saved');
  saveCard(state, customer);
  const order = await settle();
  const end = [order.state, order.failure, paymentsOf(order)];
  assert.deepEqual(end, ['failed', 'no card is saved', 0]);
});

/** A Stripe that refuses the next charge; `appear` makes the charge nevertheless. */
function refusing(failure: object) {
  const { paymentIntents } = deps.stripe;
  let appear: () => Promise<unknown> = () => Promise.reject(new Error('nothing was sent'));
  const create: typeof paymentIntents.create = (...given) => {
    appear = () => paymentIntents.create(...given);
    throw Object.assign(new Error('simulated'), failure);
  };
  return { deps: withCalls(deps, { paymentIntents: { create } }), appear: () => appear() };
}

test('a payment that needs the absent customer stays pending until it can be canceled', async () => {
  const { accountId, id, settle } = await reloadOrdered();
  declineCard(state, await customerOf(accountId));
  const cancel = async (payment: string) => {
    Object.assign(state.get('payment_intent', payment), { status: 'requires_action' });
    throw new Error('Stripe is down');
  };
  const broken = withCalls(deps, { paymentIntents: { cancel } });
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

test('a charge that Stripe made although it reported a refusal is found a day later', async () => {
  const { id } = await reloadOrdered();
  const { deps: broken, appear } = refusing(REFUSED);
  assert.equal((await settleOrder(broken, id)).state, 'failed');
  await setClock(CHARGE_SECONDS + 1);
  await fixture.settled();
  await fixture.withoutEvents(appear);
  await setClock(86_460 + CHARGE_SECONDS);
  await fixture.settled();
  const order = await fixture.order(id);
  assert.deepEqual([order.state, order.booked, paymentsOf(order)], ['paid', 1000, 1]);
});

const CHARGE = 'POST payment_intents';

test('an order whose card was removed fails only after a search for its charge', async () => {
  const { accountId, id, settle } = await reloadOrdered();
  simulator.webhooks.hold();
  simulator.failNext({ kind: 'lost', call: CHARGE }, 2); // Stripe's package repeats a broken call
  await assert.rejects(settle());
  removeCard(state, await customerOf(accountId));
  const order = await settle();
  assert.deepEqual([order.state, order.booked, paymentsOf(order)], ['paid', 1000, 1]);
  await fixture.change(accountId, -1000);
  saveCard(state, await customerOf(accountId));
  await setReload(deps, accountId, ONCE_A_MONTH);
  await watch();
  simulator.webhooks.release();
  await fixture.settled();
  assert.equal((await fixture.order(id)).booked, 1000);
  assert.equal((await listOrders(db, { accountId, limit: 9 })).length, 2);
});

test('a failed order counts as spent until Stripe was searched again for its payment', async () => {
  const { accountId, id, settle } = await reloadOrdered();
  const { deps: broken, appear } = refusing(REFUSED);
  assert.equal((await settleOrder(broken, id)).state, 'failed');
  const order = async () => {
    await setReload(deps, accountId, ONCE_A_MONTH);
    return orderReload(deps, accountId);
  };
  await settle(); // too early to know
  assert.equal(await order(), undefined);
  await fixture.withoutEvents(appear);
  await setClock(CHARGE_SECONDS + 1);
  assert.equal(await order(), undefined, 'nobody has looked yet');
  await fixture.settled();
  assert.equal((await fixture.order(id)).booked, 1000);
  await fixture.change(accountId, -1000);
  assert.equal(await order(), undefined, 'the limit of the month');
});

test('a failed order without a payment makes room for the next one', async () => {
  const { accountId, id, settle } = await reloadOrdered();
  assert.equal((await settleOrder(refusing(REFUSED).deps, id)).state, 'failed');
  await setReload(deps, accountId, ONCE_A_MONTH);
  await setClock(CHARGE_SECONDS + 1);
  await fixture.settled();
  await watch();
  assert.equal((await fixture.balance(accountId)).available, 1100);
  assert.equal((await settle()).may_be_paid_until, null, 'looked for once, and not again');
});

test('a purchase that was paid and not booked counts towards the limit', async () => {
  const { accountId, id, settle } = await reloadOrdered();
  const customer = await customerOf(accountId);
  simulator.failNext({ kind: 'lost', call: CHARGE }, 2);
  await fixture.withoutEvents(() => assert.rejects(settle()));
  for (const payment of state.all('payment_intent')) {
    if (payment.metadata.order === id) payment.amount = 1;
  }
  removeCard(state, customer);
  assert.equal((await settle()).state, 'mismatched');
  saveCard(state, customer);
  await setReload(deps, accountId, ONCE_A_MONTH);
  assert.equal(await orderReload(deps, accountId), undefined);
});

test('an error that Stripe replays for a charge fails the order, unless the card was charged', async () => {
  for (const isDone of [false, true]) {
    const { accountId, settle } = await reloadOrdered();
    simulator.failNext({ kind: 'saved-500', call: CHARGE, isDone });
    await fixture.withoutEvents(() => assert.rejects(settle(), { statusCode: 500 }));
    const why = isDone ? null : 'Stripe failed to charge the card';
    const expected = isDone ? ['paid', 1000, null, 1] : ['failed', 0, why, 0];
    for (let tries = 0; tries < 2; tries += 1) {
      const order = await settle();
      const { state: found, booked, failure } = order;
      assert.deepEqual([found, booked, failure, paymentsOf(order)], expected);
      assert.equal(await stopped(accountId), why);
    }
  }
});

test('an outage of Stripe that outlasts CHARGE_SECONDS fails the order', async () => {
  const { settle } = await reloadOrdered();
  simulator.failNext({ kind: 'outage', call: CHARGE }, 2);
  await assert.rejects(settle(), { statusCode: 500 });
  await setClock(CHARGE_SECONDS + 1);
  assert.equal((await settle()).failure, 'Stripe failed to charge the card');
});

test('a mail and an event are written once per shortage, however many processes look', async () => {
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
  const told = events.map(({ data }) => data);
  assert.deepEqual(told, [event, event]);
});

test('a pack is bought once when the balance falls, within the limit of the month', async () => {
  const accountId = await reloading();
  await Promise.all(Array.from({ length: 8 }, watch));
  assert.equal((await fixture.balance(accountId)).available, 1100);
  for (const expected of [1100, 100]) {
    await fixture.change(accountId, -1000);
    await watch();
    assert.equal((await fixture.balance(accountId)).available, expected);
  }
  assert.equal((await listOrders(db, { accountId, limit: 10 })).length, 3);
});

test('a declined card stops auto-reload, and the owner is mailed once per stop', async () => {
  const accountId = await reloading();
  declineCard(state, await customerOf(accountId));
  await watch();
  await watch();
  await watch();
  assert.deepEqual(await fixture.mailsTo(accountId), ['Auto-reload is stopped']);
  assert.equal(await stopped(accountId), 'insufficient_funds');
  const [order] = await listOrders(db, { accountId, limit: 1 });
  assert.deepEqual([order?.kind, order?.state], ['reload', 'failed']);
  declineCard(state, await customerOf(accountId), false);
  await setReload(deps, accountId, RELOAD);
  await watch();
  assert.equal((await fixture.balance(accountId)).available, 1100);
  declineCard(state, await customerOf(accountId));
  await fixture.change(accountId, -1000);
  await watch();
  assert.equal((await fixture.mailsTo(accountId)).length, 2);
});

test('a dispute stops auto-reload', async () => {
  const accountId = await reloading(999);
  const [order] = await listOrders(db, { accountId, limit: 1 });
  openDispute(state, order?.stripe_payment ?? '');
  await fixture.settled();
  await watch();
  assert.deepEqual(await fixture.balance(accountId), { available: 0, debt: 1 });
  assert.equal(await stopped(accountId), 'a payment is disputed');
});
