import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refund } from '../../../simulators/stripe/payments.ts';
import { openBillingFixture } from '../../test/billing/billing-fixture.ts';
import { sql } from '../../test/task-fixtures.ts';
import { grant } from '../ledger/ledger.ts';
import { audit } from '../operator/audit.ts';

const fixture = await openBillingFixture();
const { db } = fixture.deps;
const accountId = await fixture.customer();
const { id: orderId, stripe_id: session } = await fixture.buy(accountId);
const paid = await fixture.complete(session);
refund(fixture.simulator.state, paid.payment_intent ?? '', 400);
await fixture.settled();

test('the audit accepts an order whose transfers add up to its booked credits', async () => {
  assert.deepEqual(await audit(db), { ok: true, problems: [] });
  const booked = {
    accountId,
    kind: 'paid',
    credits: 5,
    reference: 'order:ord_of-somebody:1',
  } as const;
  await grant(db, booked); // operators may choose any reference
  assert.deepEqual(await audit(db), { ok: true, problems: [] });
});

/** What the audit reports after an update of the order, which is then undone. */
async function problemsWith(change: string): Promise<string[]> {
  const columns = 'state, credits, booked, amount, refunded, stripe_payment';
  const [before] = await sql(db, `select ${columns} from orders where id = $1`, [orderId]);
  await sql(db, `update orders set ${change} where id = $1`, [orderId]);
  const { problems } = await audit(db);
  await sql(
    db,
    `update orders o set (${columns}) = (select ${columns} from jsonb_populate_record(o, $2))
     where id = $1`,
    [orderId, JSON.stringify(before)],
  );
  return problems;
}

test('the audit finds an order with a wrong sum, a higher worth or no payment', async () => {
  const worth = (credits: number) => [
    `${orderId}: 600 credits are booked, but it is worth ${credits}`,
  ];
  assert.deepEqual(await problemsWith('booked = 700'), [
    `${orderId}: 700 credits are booked, but its transfers add up to 600`,
  ]);
  assert.deepEqual(await problemsWith('credits = 10000'), worth(6000));
  assert.deepEqual(await problemsWith('refunded = 0'), worth(1000));
  assert.deepEqual(await problemsWith('amount = 2000'), worth(800));
  for (const state of ['pending', 'failed', 'expired']) {
    assert.deepEqual(await problemsWith(`state = '${state}'`), [
      `${orderId}: 600 credits are booked, but it is ${state}`,
    ]);
  }
  assert.deepEqual((await audit(db)).problems, []);
});

test('the audit finds a payment that was booked for two orders', async () => {
  const { id, stripe_id: session } = await fixture.buy(accountId);
  const { payment_intent: payment } = await fixture.complete(session);
  const twice = 'its payment was booked for another order too';
  assert.deepEqual(
    await problemsWith(`stripe_payment = '${payment}'`),
    [id, orderId].toSorted().map((one) => `${one}: ${twice}`),
  );
});

test('the audit finds a transfer that its order does not count', async () => {
  const other = await fixture.customer();
  const reference = `order:${orderId}:3`;
  await grant(db, { accountId: other, kind: 'paid', credits: 7, reference });
  const { problems } = await audit(db);
  assert.deepEqual(problems, [`grant:${reference}: its order has 2 movements`]);
  await sql(db, 'update orders set movements = 3, booked = 607 where id = $1', [orderId]);
  assert.deepEqual((await audit(db)).problems, [
    `${orderId}: one of its transfers is in another account`,
  ]);
});
