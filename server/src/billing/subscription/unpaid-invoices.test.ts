import assert from 'node:assert/strict';
import { test } from 'node:test';
import { declineCard } from '../../../../simulators/stripe/payments.ts';
import {
  endSubscription,
  invoiceNow,
  leaveUnpaid,
  markInvoice,
  payByHand,
  renew,
  retryInvoices,
} from '../../../../simulators/stripe/subscriptions.ts';
import { openBillingFixture } from '../../../test/billing/billing-fixture.ts';
import { sql } from '../../../test/task-fixtures.ts';
import { settleSubscription } from './settle-subscription.ts';
import { readSubscription } from './subscription.ts';

const fixture = await openBillingFixture();
const { state } = fixture;

async function stateOf(id: string): Promise<string | undefined> {
  return (await readSubscription(fixture.deps.db, id))?.state;
}

/** A subscription that has ended with an invoice that was not paid. */
async function endedOwing() {
  const subscription = await fixture.subscribed();
  declineCard(state, subscription.customer);
  renew(state, subscription.stripe);
  endSubscription(state, subscription.stripe);
  await fixture.settled();
  assert.equal(await stateOf(subscription.id), 'canceled');
  const [invoice] = state.all('invoice');
  assert.ok(invoice);
  declineCard(state, subscription.customer, false);
  return { ...subscription, invoice };
}

/** When Stripe is asked next, in seconds of the clock; null: never. */
async function nextLook(id: string): Promise<number | null> {
  const due = 'extract(epoch from due_at - clock_now())::float8 as seconds';
  const select = `select ${due} from subscriptions where id = $1`;
  const [row] = await sql<{ seconds: number | null }>(fixture.deps.db, select, [id]);
  return row?.seconds ?? null;
}

test('an invoice that is paid after its subscription ended is found without an event', async (t) => {
  t.after(() => fixture.database.setClock(0));
  const { accountId, id, invoice } = await endedOwing();
  for (const days of [1, 10, 200]) {
    await fixture.database.setClock(days * 86_400);
    await fixture.settled();
    const next = (await nextLook(id)) ?? Number.NaN;
    assert.ok(next > 3500 && next <= 7 * 86_400, `${next} s after ${days} days`);
  }
  await fixture.withoutEvents(() => {
    markInvoice(state, invoice.id, 'uncollectible');
    payByHand(state, invoice.id);
  });
  await fixture.database.setClock(208 * 86_400);
  await fixture.settled();
  const { available } = await fixture.balance(accountId);
  assert.equal(available, 3000, "the first period's credits have expired");
  assert.equal(await nextLook(id), null, 'nothing can be paid any more');
});

test('an ended subscription is polled no more once its last invoice is void', async () => {
  const { id, invoice } = await endedOwing();
  await fixture.withoutEvents(() => markInvoice(state, invoice.id, 'void'));
  await settleSubscription(fixture.deps, id);
  assert.equal(await nextLook(id), null);
});

test('all invoices of a subscription are read, however many it has', async () => {
  const { accountId, id, stripe } = await fixture.subscribed();
  const price = await fixture.priceOf('hobby');
  await fixture.withoutEvents(() => {
    invoiceNow(state, stripe, [{ price, amount: 200 }]);
    for (let n = 0; n < 100; n += 1) invoiceNow(state, stripe, [{ price, amount: 0 }]);
  });
  await settleSubscription(fixture.deps, id);
  assert.equal((await fixture.balance(accountId)).available, 3000 + 300);
});

test('an unpaid subscription brings credits when its invoices are paid', async () => {
  const { accountId, id, stripe, customer } = await fixture.subscribed();
  declineCard(state, customer);
  renew(state, stripe);
  leaveUnpaid(state, stripe);
  renew(state, stripe);
  await fixture.settled();
  assert.equal(await stateOf(id), 'unpaid');
  declineCard(state, customer, false);
  const [draft] = state.all('invoice');
  assert.equal(draft?.status, 'draft');
  await fixture.withoutEvents(() => {
    markInvoice(state, draft?.id ?? '', 'open');
    retryInvoices(state, stripe);
  });
  await fixture.settledAfter(86_460);
  assert.equal(await stateOf(id), 'active');
  assert.equal((await fixture.balance(accountId)).available, 9000);
});
