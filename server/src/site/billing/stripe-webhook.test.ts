import assert from 'node:assert/strict';
import { test } from 'node:test';
import { completeSession } from '../../../../simulators/stripe/checkout.ts';
import { renew } from '../../../../simulators/stripe/subscriptions.ts';
import { signature } from '../../../../simulators/stripe/webhooks.ts';
import { parseResponse } from '../../../test/app.ts';
import { openBillingFixture, WEBHOOK_SECRET } from '../../../test/billing/billing-fixture.ts';
import { assertError } from '../../../test/envelope.ts';
import { recordingLog } from '../../../test/recording-log.ts';
import { sql } from '../../../test/task-fixtures.ts';

const { log, lines } = recordingLog();

const fixture = await openBillingFixture({ log });

const now = () => Math.floor(Date.now() / 1000);

async function post(body: string | Buffer, header: string | undefined) {
  const headers = {
    'content-type': 'application/json',
    ...(header && { 'stripe-signature': header }),
  };
  const { app } = fixture.webhook;
  const url = '/webhooks/stripe';
  return parseResponse(await app.inject({ method: 'POST', url, headers, payload: body }));
}

async function noted(): Promise<number> {
  const select = 'select count(*)::int as events from stripe_events';
  const [row] = await sql<{ events: number }>(fixture.deps.db, select);
  return row?.events ?? 0;
}

const EVENT = JSON.stringify({
  id: 'evt_1',
  object: 'event',
  type: 'charge.refunded',
  data: { object: { payment_intent: 'pi_1' } },
});

test('an event is recorded once, whatever it is about', async () => {
  const before = await noted();
  for (let n = 0; n < 2; n += 1) {
    assert.equal((await post(EVENT, signature(EVENT, WEBHOOK_SECRET))).status, 200);
  }
  const unknown = EVENT.replace('evt_1', 'evt_2').replace('charge.refunded', 'some.thing_new');
  assert.equal((await post(unknown, signature(unknown, WEBHOOK_SECRET))).status, 200);
  assert.equal(await noted(), before + 2);
});

test('what Stripe did not sign, and what it signed long ago, is refused and not recorded', async () => {
  const before = await noted();
  const good = signature(EVENT, WEBHOOK_SECRET);
  for (const header of [
    undefined,
    '',
    't=1,v1=x',
    signature(EVENT, 'whsec_other'),
    signature(EVENT, WEBHOOK_SECRET, now() - 400),
    signature(EVENT, WEBHOOK_SECRET, now() + 400),
    good.replace(/^t=\d+/, `t=${now() + 1}`),
  ]) {
    assertError(await post(EVENT, header), 'invalid_request');
  }
  assertError(await post(EVENT.replace('pi_1', 'pi_2'), good), 'invalid_request');
  assertError(await post('no json', signature('no json', WEBHOOK_SECRET)), 'invalid_request');
  assert.equal(await noted(), before);
});

test('an event of the other mode is refused and not recorded', async () => {
  const before = await noted();
  const other = EVENT.replace('"evt_1"', '"evt_live","livemode":true');
  assertError(await post(other, signature(other, WEBHOOK_SECRET)), 'invalid_request');
  assert.equal(await noted(), before);
  assert.match(lines.splice(0).join(), /another mode than the API key/);
});

test('an event of up to 1 MiB is read, a larger one is not', async () => {
  const event = { ...JSON.parse(EVENT), id: 'evt_3', padding: '' };
  event.padding = 'x'.repeat(2 ** 20 - JSON.stringify(event).length);
  const large = JSON.stringify(event);
  assert.equal((await post(large, signature(large, WEBHOOK_SECRET))).status, 200);
  const larger = Buffer.alloc(2 ** 20 + 1, 32);
  assertError(await post(larger, signature('', WEBHOOK_SECRET)), 'payload_too_large');
});

test('an event makes its order due before Stripe gets a response', async () => {
  const order = await fixture.buy(await fixture.customer());
  completeSession(fixture.simulator.state, order.stripe_id ?? '', 'now');
  await fixture.simulator.webhooks.idle();
  const select = 'select due_at <= clock_now() as is_due from orders where id = $1';
  const [row] = await sql<{ is_due: boolean }>(fixture.deps.db, select, [order.id]);
  assert.equal(row?.is_due, true);
});

test('the invoices of an older API version wake their subscription, and a warning says so once', async () => {
  const { state, webhooks } = fixture.simulator;
  const accountId = await fixture.customer();
  const { session } = await fixture.subscribe(accountId, 'hobby');
  const { subscription } = completeSession(state, session, 'now');
  await fixture.settled();
  assert.deepEqual(lines, []);
  const { version } = webhooks;
  const older = ['2024-06-20', '2022-11-15'];
  for (const [n, one] of [...older, ...older].entries()) {
    webhooks.version = one;
    renew(state, subscription ?? '');
    await fixture.settled();
    assert.equal((await fixture.balance(accountId)).available, 6000 + n * 3000);
  }
  webhooks.version = version;
  const told = lines.map((line) => JSON.parse(line));
  assert.deepEqual(
    told.map((line) => [line.version, line.expected]),
    older.map((one) => [one, version]),
  );
  assert.match(told[0]?.msg, /another API version/);
});
