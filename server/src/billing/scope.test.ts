import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { completeSession } from '../../../simulators/stripe/checkout.ts';
import { deleteCustomer } from '../../../simulators/stripe/named.ts';
import { renew } from '../../../simulators/stripe/subscriptions.ts';
import { openBillingFixture } from '../../test/billing/billing-fixture.ts';
import { assertRejectsWith } from '../../test/billing/rejects.ts';
import { makeCustomer } from '../../test/customer.ts';
import { sql } from '../../test/task-fixtures.ts';
import { buyPack } from './buy-pack.ts';
import { readOrder } from './credit-order.ts';
import { knownCustomer, saveCustomer } from './customers.ts';
import { orderReload } from './low-balance/reload.ts';
import { setReload } from './low-balance/settings.ts';
import { type Offer, offersOnSale, readOffer, retireOffer, setOffer } from './offers.ts';
import { settleOrder } from './settle-order.ts';
import type { BillingDeps } from './stripe-client.ts';
import { openPortal } from './subscription/portal.ts';
import { settleSubscription } from './subscription/settle-subscription.ts';
import { subscribe } from './subscription/subscribe.ts';
import { readSubscription, subscriptionOf } from './subscription/subscription.ts';
import { settleDue } from './sweep.ts';

const fixture = await openBillingFixture({ retries: 0, auditsAllBut: [] });
const live = await fixture.depsOf('sk_live_1');
const { deps: own, state: test1, simulator } = fixture;
const { db } = own;
const live1 = simulator.stateOf('sk_live_1');
beforeEach(async () => {
  await sql(db, 'update orders set due_at = null');
  await sql(db, 'update subscriptions set due_at = null');
});

const STUDIO = (await readOffer(db, 'plan', 'studio')) as Offer;

const sessionOf = (url: string) => url.split('/').at(-1) ?? '';

function buy(deps: BillingDeps, accountId: string) {
  return buyPack(deps, { accountId, packId: 'small', savesCard: true });
}

/** An account that has bought a pack and a plan. */
async function buyPackAndPlan(deps = own, state = test1) {
  const accountId = await fixture.customer();
  const { orderId, url } = await buy(deps, accountId);
  completeSession(state, sessionOf(url), 'now');
  await settleOrder(deps, orderId);
  const plan = await subscribe(deps, { accountId, planId: 'hobby' });
  completeSession(state, sessionOf(plan.url), 'now');
  await settleSubscription(deps, plan.subscriptionId);
  await openPortal(deps, accountId);
  return { accountId, orderId, subscriptionId: plan.subscriptionId };
}

/** Buys a pack and a plan, and opens the portal. */
async function buyAll(deps: BillingDeps, accountId: string) {
  const pack = await buy(deps, accountId);
  const plan = await subscribe(deps, { accountId, planId: 'hobby' });
  const portal = await openPortal(deps, accountId);
  return { pack: sessionOf(pack.url), plan: sessionOf(plan.url), portal: sessionOf(portal) };
}

test('an account that was tested buys packs and plans in live mode, and manages them', async () => {
  const { accountId } = await buyPackAndPlan();
  await assertRejectsWith(openPortal(live, accountId), 'not_found');
  assert.equal(await subscriptionOf(db, accountId, live.scope), undefined);
  const bought = await buyAll(live, accountId);
  assert.match(bought.pack, /^cs_live_/);
  const { subscription } = completeSession(live1, bought.plan, 'now');
  assert.ok(subscription);
  const portal = live1.get('billing_portal.session', bought.portal);
  assert.equal(portal.customer, await knownCustomer(db, accountId, live.scope));
  // A process with the old key goes on with its own ids.
  await openPortal(own, accountId);
  const { state } = (await subscriptionOf(db, accountId, own.scope)) ?? {};
  assert.equal(state, 'active');
});

test('a process of one Stripe mode books no payment of the other', async () => {
  for (const [payer, other, state] of [
    [own, live, test1],
    [live, own, live1],
  ] as const) {
    const accountId = await fixture.customer();
    const { orderId, url } = await buy(payer, accountId);
    const plan = await subscribe(payer, { accountId, planId: 'hobby' });
    await fixture.withoutEvents(() => {
      completeSession(state, sessionOf(url), 'now');
      completeSession(state, sessionOf(plan.url), 'now');
    });
    await sql(db, 'update orders set due_at = clock_now() where id = $1', [orderId]);
    const makeDue = 'update subscriptions set due_at = clock_now() where id = $1';
    await sql(db, makeDue, [plan.subscriptionId]);
    assert.equal(await settleDue(other), 0);
    assert.equal((await settleOrder(other, orderId)).state, 'pending');
    assert.equal((await settleSubscription(other, plan.subscriptionId)).state, 'opening');
    assert.equal((await fixture.balance(accountId)).available, 0);
    assert.equal(await settleDue(payer), 2);
    assert.equal((await fixture.balance(accountId)).available, 4000);
  }
});

test('an automatic purchase that is open in test mode does not block one in live mode', async () => {
  const accountId = await fixture.customer();
  for (const [deps, state] of [
    [own, test1],
    [live, live1],
  ] as const) {
    const { orderId, url } = await buy(deps, accountId);
    completeSession(state, sessionOf(url), 'now');
    await settleOrder(deps, orderId);
    await setReload(deps, accountId, { pack_id: 'small', below: 9000, monthly_limit: 1000 });
    const { scope, db } = deps;
    const order = await orderReload(deps, accountId);
    const found = await readOrder(db, order ?? '');
    assert.deepEqual(
      [found?.stripe_mode, found?.stripe_account, found?.stripe_customer],
      [scope.mode, 'acct_first', await knownCustomer(db, accountId, scope)],
    );
    assert.equal(await orderReload(deps, accountId), undefined);
  }
});

test('two Stripe accounts of one mode keep their ids apart, even if their keys hide them', async () => {
  const key = await fixture.depsOf('rk_test_1');
  const other = await fixture.depsOf('rk_test_other_1');
  assert.deepEqual([key.scope.account, other.scope.account], [null, null]);
  const { accountId } = await buyPackAndPlan(key);
  const bought = await buyAll(other, accountId);
  const state = simulator.stateOf('rk_test_other_1');
  assert.equal(state.get('checkout.session', bought.plan).status, 'open');
  assert.equal(state.get('billing_portal.session', bought.portal).livemode, false);
  const plans = await offersOnSale(db, 'plan');
  for (const { id } of plans) await retireOffer(db, 'plan', id);
  for (const deps of [key, other]) await openPortal(deps, accountId); // the same features in both
  for (const plan of plans) await setOffer(db, plan);
});

test('a customer who was deleted at Stripe is made again, once', async () => {
  const { accountId } = await buyPackAndPlan();
  const customer = (await knownCustomer(db, accountId, own.scope)) ?? '';
  deleteCustomer(test1, customer);
  await fixture.settled();
  const made = test1.all('customer').length;
  const reload = { pack_id: 'small', below: 500, monthly_limit: 9000 };
  await assertRejectsWith(setReload(own, accountId, reload), 'invalid_request');
  await Promise.all([buy(own, accountId), openPortal(own, accountId)]);
  const { plan } = await buyAll(own, accountId);
  assert.equal(test1.get('checkout.session', plan).status, 'open');
  assert.equal(test1.all('customer').length, made + 1);
});

test('a price that was archived at Stripe is made again, and its subscribers keep it', async () => {
  const { accountId, subscriptionId } = await buyPackAndPlan();
  const prices = () => test1.all('price').filter(({ metadata }) => metadata.plan === 'hobby');
  for (const price of prices()) price.active = false;
  const before = prices().length;
  const other = await fixture.customer();
  const { plan } = await buyAll(own, other);
  assert.equal(prices().length, before + 1);
  const session = test1.get('checkout.session', plan);
  assert.equal(session.item.price, prices()[0]?.id);
  const found = await readSubscription(db, subscriptionId);
  renew(test1, found?.stripe_subscription ?? '');
  await settleSubscription(own, subscriptionId);
  assert.equal((await fixture.balance(accountId)).available, 7000);
});

test('customers can cancel while Stripe refuses the prices of plans', async () => {
  const { accountId } = await buyPackAndPlan();
  for (const { id } of test1.all('price')) test1.get('price', id).active = false;
  await setOffer(db, { ...STUDIO, id: 'strange', currency: 'xxx' });
  assert.match(await openPortal(own, accountId), /\/p\/session\//);
  await retireOffer(db, 'plan', 'strange');
});

test('a 500 that Stripe saved does not keep an account from buying', async () => {
  const calls = ['customers', 'prices', 'checkout/sessions', 'billing_portal/configurations'];
  for (const isDone of [true, false]) {
    for (const [index, path] of calls.entries()) {
      const credits = 100 + index + (isDone ? 10 : 0);
      await setOffer(db, { ...STUDIO, credits }); // so a price and a portal are made
      const accountId = await fixture.customer();
      simulator.failNext({ kind: 'saved-500', call: `POST ${path}`, isDone });
      const { pack, plan } = await buyAll(own, accountId);
      assert.equal(simulator.faults.next.length, 0, path);
      for (const id of [pack, plan]) assert.equal(test1.get('checkout.session', id).status, 'open');
    }
  }
});

test('after a temporary refusal by Stripe, the next try succeeds', async () => {
  for (const [kind, statusCode] of [
    ['conflict', 409],
    ['rate-limit', 429],
  ] as const) {
    const accountId = await fixture.customer();
    simulator.failNext({ kind });
    await assert.rejects(buy(own, accountId), { statusCode });
    assert.match((await buy(own, accountId)).url, /cs_test_/);
  }
});

test('when several purchases save a customer at once, the first one stays', async () => {
  const { scope } = own;
  for (let round = 0; round < 60; round += 1) {
    const { accountId } = await makeCustomer(db, 0);
    const id = `cus_${round}`;
    const saved = await Promise.all(
      Array.from({ length: 12 }, () => saveCustomer(db, accountId, { customer: id, scope })),
    );
    assert.deepEqual([...new Set(saved)], [id]);
    assert.equal(await saveCustomer(db, accountId, { customer: 'cus_other', scope }), id);
  }
});
