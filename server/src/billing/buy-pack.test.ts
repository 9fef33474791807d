import assert from 'node:assert/strict';
import { test } from 'node:test';
import { completeSession } from '../../../simulators/stripe/checkout.ts';
import { refund } from '../../../simulators/stripe/payments.ts';
import { openBillingFixture } from '../../test/billing/billing-fixture.ts';
import { recordingLog } from '../../test/recording-log.ts';
import { sql } from '../../test/task-fixtures.ts';
import { endGrace } from '../accounts/closing.ts';
import { disableByOperator, enableByOperator } from '../operator/verbs/accounts.ts';
import { closeAccount } from '../sign-in/deletion.ts';
import { buyPack } from './buy-pack.ts';
import { listOrders } from './credit-order.ts';
import { customerOf } from './customers.ts';
import { wakePayments } from './payment-pages.ts';
import { settleOrder } from './settle-order.ts';
import { readSubscription } from './subscription/subscription.ts';
import { settleDue } from './sweep.ts';

const ACTION = { command: 'accounts disable', actor: 'ada', reason: 'ticket 7' };

const fixture = await openBillingFixture({ auditsAllBut: [] });
const { state } = fixture;
const { db } = fixture.database;

function sessionOf(id: string | null) {
  return state.get('checkout.session', id ?? '');
}

/** As POST /console/api/account/delete does. */
function close(accountId: string) {
  return db.transaction(async (tx) => {
    await closeAccount(tx, accountId);
    await wakePayments(tx, accountId);
  });
}

/** Closes an account, and ends the time in which its owner could reopen it. */
async function closeForGood(accountId: string): Promise<void> {
  await close(accountId);
  assert.ok(await db.transaction((tx) => endGrace(tx, accountId)));
}

/** The orders of an account, and the Checkouts that it could pay. */
async function opened(accountId: string) {
  const orders = await listOrders(db, { accountId, limit: 40 });
  const ids = new Set(orders.map(({ id }) => id));
  const sessions = state
    .all('checkout.session')
    .filter(({ client_reference_id: id, status }) => status === 'open' && ids.has(id ?? ''));
  return { orders: orders.length, sessions: sessions.length };
}

test('six clicks at once open one Checkout, and another one to save the card', async () => {
  const accountId = await fixture.customer();
  for (const [index, savesCard] of [false, true].entries()) {
    const buy = () => buyPack(fixture.deps, { accountId, packId: 'small', savesCard });
    const bought = await Promise.all(Array.from({ length: 6 }, buy));
    assert.equal(new Set(bought.map(({ url }) => url)).size, 1);
    assert.deepEqual(await opened(accountId), { orders: index + 1, sessions: index + 1 });
  }
});

test('after a lost response of Stripe, the next click leads to the same Checkout', async () => {
  const accountId = await fixture.customer();
  await customerOf(fixture.deps, accountId);
  fixture.simulator.loseResponses(10);
  await assert.rejects(fixture.buy(accountId));
  fixture.simulator.loseResponses(0);
  await fixture.buy(accountId);
  assert.deepEqual(await opened(accountId), { orders: 1, sessions: 1 });
});

test('a Checkout that was completed is not offered again while its money is on the way', async () => {
  const accountId = await fixture.customer();
  const first = await fixture.buy(accountId);
  completeSession(state, first.stripe_id ?? '', 'later');
  const bought = await Promise.all(Array.from({ length: 6 }, () => fixture.buy(accountId)));
  assert.equal(new Set(bought.map(({ id }) => id)).size, 1);
  assert.notEqual(bought[0]?.id, first.id);
  assert.deepEqual(await opened(accountId), { orders: 2, sessions: 1 });
});

test('an account that starts thirty purchases at once gets twenty Checkouts', async () => {
  const accountId = await fixture.customer();
  const packs = await Promise.all(Array.from({ length: 30 }, () => fixture.anotherPack()));
  const buy = (packId: string) => fixture.buy(accountId, { packId });
  const bought = await Promise.allSettled(packs.map(buy));
  const refused = bought.filter(({ status }) => status === 'rejected');
  assert.equal(refused.length, 10);
  for (const one of refused) assert.match(String(Object(one).reason), /Too many purchases/);
  assert.equal((await opened(accountId)).orders, 20);
});

test('the open payment page of a plan is closed with its account', async () => {
  const accountId = await fixture.customer();
  const { id, session } = await fixture.subscribe(accountId, 'hobby');
  await close(accountId);
  await fixture.settled();
  assert.equal(sessionOf(session).status, 'expired');
  await fixture.settled();
  assert.equal((await readSubscription(db, id))?.state, 'expired');
});

test('closing an account cancels its plan; an operator who disables it does not', async () => {
  const { accountId, id, stripe } = await fixture.subscribed();
  const states = async () => {
    await fixture.settled();
    const { status } = state.get('subscription', stripe);
    return [status, (await readSubscription(db, id))?.state];
  };
  await disableByOperator(db, ACTION, accountId);
  assert.deepEqual(await states(), ['active', 'active']);
  await enableByOperator(db, ACTION, accountId);
  await closeForGood(accountId);
  assert.deepEqual(await states(), ['canceled', 'canceled']);
  await enableByOperator(db, ACTION, accountId);
  assert.deepEqual(await states(), ['canceled', 'canceled']);
  assert.equal((await fixture.balance(accountId)).available, 3000);
});

test('closing an account also closes a payment page that is just opening', async () => {
  const accountId = await fixture.customer();
  const { id, stripe_id: session } = await fixture.buy(accountId);
  // Stripe has opened it, and its response is still on the way.
  await sql(db, 'update orders set stripe_id = null where id = $1', [id]);
  await close(accountId);
  await fixture.settled();
  assert.equal((await fixture.order(id)).state, 'pending');
  await sql(db, 'update orders set stripe_id = $2 where id = $1', [id, session]);
  await fixture.settledAfter(120);
  assert.equal(sessionOf(session).status, 'expired');
});

test('what is paid after the account was closed is not booked, but is listed to be refunded', async () => {
  const accountId = await fixture.customer();
  const { id, stripe_id: session } = await fixture.buy(accountId);
  await closeForGood(accountId);
  const { payment_intent: payment } = await fixture.complete(session);
  const order = await fixture.order(id);
  assert.deepEqual([order.state, order.booked], ['mismatched', 0]);
  assert.match(order.failure ?? '', /closed: refund/);
  refund(state, payment ?? '');
  await fixture.settled();
  assert.equal((await fixture.order(id)).refunded, 1000);
  assert.deepEqual(await fixture.balance(accountId), { available: 0, debt: 0 });
});

test('an invoice of a closed account is logged once; enabled again, the account has its credits', async () => {
  const { webhooks } = fixture.simulator;
  const accountId = await fixture.customer();
  completeSession(state, (await fixture.subscribe(accountId, 'hobby')).session, 'now');
  await closeForGood(accountId);
  await webhooks.idle();
  const { log, lines } = recordingLog();
  const deps = { ...fixture.deps, log };
  await settleDue(deps);
  const [order] = await listOrders(db, { accountId, limit: 1 });
  const settled = async () => {
    const now = await settleOrder(deps, order?.id ?? '');
    return [now.state, now.failure, now.refunded, now.booked];
  };
  const failure = 'the account is closed: refund the payment';
  assert.deepEqual(await settled(), ['mismatched', failure, 0, 0]);
  refund(state, order?.stripe_payment ?? '', 500);
  assert.deepEqual(await settled(), ['mismatched', failure, 500, 0]);
  assert.equal(lines.length, 1);
  await enableByOperator(db, ACTION, accountId);
  assert.deepEqual(await settled(), ['paid', null, 500, 2250]);
});

test('the payment page of a disabled account is closed; a payment that still arrives is booked', async () => {
  const accountId = await fixture.customer();
  const open = await fixture.buy(accountId);
  const paid = await fixture.buy(accountId, { savesCard: true });
  await disableByOperator(db, ACTION, accountId);
  await fixture.complete(paid.stripe_id);
  assert.equal(sessionOf(open.stripe_id).status, 'expired');
  assert.equal((await fixture.order(paid.id)).state, 'paid');
  await enableByOperator(db, ACTION, accountId);
  assert.equal((await fixture.balance(accountId)).available, 1000);
});
