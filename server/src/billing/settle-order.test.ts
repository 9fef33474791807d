import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  completeSession,
  expireSession,
  settleSession,
} from '../../../simulators/stripe/checkout.ts';
import {
  moveDispute,
  openDispute,
  refund,
  settleRefund,
} from '../../../simulators/stripe/payments.ts';
import { openBillingFixture, withCalls } from '../../test/billing/billing-fixture.ts';
import { assertRejectsWith } from '../../test/billing/rejects.ts';
import { reserve } from '../../test/ledger/reserve.ts';
import { sql } from '../../test/task-fixtures.ts';
import { settle } from '../ledger/ledger.ts';
import { readFigures } from '../operator/listings/figures.ts';
import { settleOrder } from './settle-order.ts';

const fixture = await openBillingFixture({ auditsAllBut: ['the task is missing'] });
const { db } = fixture.database;
const { state, available } = fixture;

/** A new account with the open Checkout of a pack. */
async function buy() {
  const accountId = await fixture.customer();
  const { id, stripe_id: session } = await fixture.buy(accountId);
  return { accountId, id, session: session ?? '' };
}

/** A paid order of 1000 credits, and its payment at Stripe. */
async function buyPaid() {
  const bought = await buy();
  const { payment_intent: payment } = await fixture.complete(bought.session);
  return { ...bought, payment: payment ?? '' };
}

async function spend(accountId: string, credits: number): Promise<void> {
  const taskId = `task_${crypto.randomUUID()}`;
  await db.transaction((tx) => reserve(tx, { accountId, taskId, credits }));
  await db.transaction((tx) => settle(tx, 'capture', [{ accountId, taskId, credits }]));
}

test('a completed Checkout that is not paid yet brings nothing until the money is there', async () => {
  const { accountId, id, session } = await buy();
  completeSession(state, session, 'later');
  assert.equal(await available(accountId), 0);
  assert.equal((await fixture.order(id)).state, 'pending');
  settleSession(state, session, true);
  assert.equal(await available(accountId), 1000);
});

test('money that does not arrive, and a Checkout that expires, end the order', async () => {
  for (const ends of ['failed', 'expired'] as const) {
    const { accountId, id, session } = await buy();
    if (ends === 'failed') {
      completeSession(state, session, 'later');
      settleSession(state, session, false);
    } else expireSession(state, session);
    assert.equal(await available(accountId), 0);
    assert.equal((await fixture.order(id)).state, ends);
  }
});

test('what was read before another process settled the order is read again', async () => {
  const { accountId, id, payment } = await buyPaid();
  const { stripe } = fixture.deps;
  let reads = 0;
  const retrieve = async (...given: Parameters<typeof stripe.checkout.sessions.retrieve>) => {
    const before = await stripe.checkout.sessions.retrieve(...given);
    reads += 1;
    if (reads === 1) {
      await fixture.withoutEvents(() => refund(state, payment, 400));
      await settleOrder(fixture.deps, id);
    }
    return before;
  };
  const slow = withCalls(fixture.deps, { checkout: { sessions: { retrieve } } });
  const order = await settleOrder(slow, id);
  assert.deepEqual([reads, order.refunded, order.booked], [2, 400, 600]);
  assert.deepEqual(await fixture.balance(accountId), { available: 600, debt: 0 });
});

test('a dispute makes spent credits a debt; a purchase repays it; a won dispute restores them', async () => {
  const { accountId, payment } = await buyPaid();
  await spend(accountId, 800);
  const { id: dispute } = openDispute(state, payment);
  await fixture.settled();
  assert.deepEqual(await fixture.balance(accountId), { available: 0, debt: 800 });
  const next = await fixture.buy(accountId);
  await fixture.complete(next.stripe_id);
  assert.deepEqual(await fixture.balance(accountId), { available: 200, debt: 0 });
  moveDispute(state, dispute, 'won');
  await fixture.settled();
  assert.deepEqual(await fixture.balance(accountId), { available: 1200, debt: 0 });
});

test('a refund counts while it is pending or waits for the customer, until it fails', async () => {
  const { accountId, id, payment } = await buyPaid();
  const { id: pending } = refund(state, payment, 333, 'pending');
  const { id: waiting } = refund(state, payment, 200, 'requires_action');
  assert.equal(await available(accountId), 467);
  settleRefund(state, pending, 'succeeded');
  settleRefund(state, waiting, 'canceled');
  assert.equal(await available(accountId), 667);
  settleRefund(state, pending, 'failed');
  assert.equal(await available(accountId), 1000);
  for (let n = 0; n < 12; n += 1) refund(state, payment, 10, 'requires_action');
  assert.equal(await available(accountId), 880);
  refund(state, payment);
  assert.equal(await available(accountId), 0);
  const order = await fixture.order(id);
  assert.deepEqual([order.refunded, order.booked, order.state], [1000, 0, 'paid']);
});

test('of two disputes, the order shows the open one and is polled again', async () => {
  const { accountId, id, payment } = await buyPaid();
  openDispute(state, payment, { amount: 400 });
  const { id: newer } = openDispute(state, payment, { amount: 300 });
  moveDispute(state, newer, 'won');
  await fixture.settled();
  const { dispute, disputed, booked } = await fixture.order(id);
  assert.deepEqual([dispute, disputed, booked], ['needs_response', 400, 600]);
  const [row] = await sql<{ is_soon: boolean }>(
    db,
    `select due_at < clock_now() + interval '1 day' as is_soon from orders where id = $1`,
    [id],
  );
  assert.equal(row?.is_soon, true);
  assert.equal((await fixture.balance(accountId)).available, 600);
});

test('an inquiry takes nothing until it is a chargeback, and an appeal leaves it open', async () => {
  const { accountId, id, payment } = await buyPaid();
  const { id: dispute } = openDispute(state, payment, { status: 'warning_needs_response' });
  const seen = async () => {
    await fixture.settled();
    return [(await fixture.order(id)).dispute, (await fixture.balance(accountId)).available];
  };
  assert.deepEqual(await seen(), ['warning_needs_response', 1000]);
  const steps = ['under_review', 'lost', 'appeal_under_review'] as const;
  for (const step of steps) {
    moveDispute(state, dispute, step);
    assert.deepEqual(await seen(), [step, 0]);
  }
  moveDispute(state, dispute, 'won');
  assert.deepEqual(await seen(), ['won', 1000]);
});

test('a dispute that moved money without a chargeback or a refund takes what it moved', async () => {
  for (const [withdrawn, left] of [
    [undefined, 1000],
    [250, 750],
  ] as const) {
    const { accountId, payment } = await buyPaid();
    openDispute(state, payment, { status: 'prevented', ...(withdrawn && { withdrawn }) });
    assert.equal(await available(accountId), left);
  }
});

test('a dispute in another currency takes its share, or everything before money has moved', async () => {
  const { accountId, id, payment } = await buyPaid();
  const asked = { amount: 46_000, currency: 'jpy' };
  const { balance_transactions: moved } = openDispute(state, payment, asked);
  assert.equal(await available(accountId), 0);
  const { latest_charge: charge } = state.get('payment_intent', payment);
  const booked = state.get('charge', charge ?? '').balance_transaction;
  Object.assign(state.get('balance_transaction', booked), { amount: 900, currency: 'eur' });
  moved.push(state.add('balance_transaction', { amount: -450, currency: 'eur' }));
  await settleOrder(fixture.deps, id);
  assert.equal((await fixture.balance(accountId)).available, 500);
});

test('a payment of another amount is not booked, and is reported until it is refunded', async () => {
  const { accountId, id, session } = await buy();
  const mismatched = async () => {
    const figures = await readFigures(db);
    return figures.mismatched.find(({ kind }) => kind === 'pack')?.orders ?? 0;
  };
  const before = await mismatched();
  const paid = completeSession(state, session, 'now');
  paid.amount_subtotal = 1;
  assert.equal(await available(accountId), 0);
  assert.equal((await fixture.order(id)).state, 'mismatched');
  assert.equal(await mismatched(), before + 1);
  refund(state, paid.payment_intent ?? '');
  await fixture.settled();
  assert.equal((await fixture.order(id)).state, 'mismatched');
  assert.equal(await mismatched(), before);
});

test('a payment without an amount is not booked', async () => {
  const { accountId, id, session } = await buy();
  const paid = completeSession(state, session, 'now');
  Object.assign(paid, { amount_subtotal: null, amount_total: null });
  assert.equal(await available(accountId), 0);
  assert.equal((await fixture.order(id)).state, 'mismatched');
});

test('a paid order stays booked when a response says that it was never paid', async () => {
  const { accountId, id, session: stripeId } = await buyPaid();
  const session = state.get('checkout.session', stripeId);
  const { status, payment_status } = session;
  for (const garbage of [{ status: 'open' }, { status: 'expired' }, { payment_status: 'unpaid' }]) {
    Object.assign(session, { status, payment_status }, garbage);
    if ('payment_status' in garbage) session.payment_intent = null;
    await assertRejectsWith(settleOrder(fixture.deps, id), 'service_busy');
  }
  assert.deepEqual(await fixture.balance(accountId), { available: 1000, debt: 0 });
});

test('a payment page that was opened for another order is not booked', async () => {
  const bought = await Promise.all([fixture.customer(), fixture.customer()]);
  const [own, other] = [await fixture.buy(bought[0]), await fixture.buy(bought[1])];
  await sql(db, 'update orders set stripe_id = null where account_id = any($1)', [bought]);
  const session = state.get('checkout.session', other.stripe_id ?? '');
  session.metadata.order = own.id;
  await fixture.complete(session.id);
  assert.equal((await fixture.order(own.id)).state, 'mismatched');
  assert.equal((await fixture.balance(bought[0])).available, 0);
});

test('orders that can not be settled do not hold up the others', async () => {
  for (let n = 0; n < 9; n += 1) {
    const { id } = await buy();
    const broken = `update orders set stripe_id = 'cs_gone' || id,
      due_at = clock_now() - interval '1 hour' where id = $1`;
    await sql(db, broken, [id]);
  }
  const { accountId } = await buyPaid();
  assert.equal((await fixture.balance(accountId)).available, 1000);
  await sql(db, `update orders set due_at = null where stripe_id like 'cs_gone%'`);
});

test('an order keeps the terms that its pack had when Checkout was opened', async () => {
  const { accountId, session } = await buy();
  await sql(db, `update offers set credits = 1, price = 999 where id = 'small'`);
  await fixture.complete(session);
  await sql(db, `update offers set credits = 1000, price = 1000 where id = 'small'`);
  assert.equal((await fixture.balance(accountId)).available, 1000);
});

test('credits that expired before a refund do not become a debt', async () => {
  await sql(db, `update offers set expires_days = 1 where id = 'small'`);
  const { accountId, id, payment } = await buyPaid();
  await sql(db, `update offers set expires_days = null where id = 'small'`);
  await spend(accountId, 600);
  await fixture.database.setClock(2 * 86_400);
  refund(state, payment);
  await fixture.settled();
  assert.deepEqual(await fixture.balance(accountId), { available: 0, debt: 600 });
  assert.equal((await fixture.order(id)).booked, 400);
  await fixture.database.setClock(0);
});
