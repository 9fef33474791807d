import assert from 'node:assert/strict';
import { test } from 'node:test';
import { completeSession } from '../../../../simulators/stripe/checkout.ts';
import { saveCard } from '../../../../simulators/stripe/payments.ts';
import { assertError } from '../../../test/envelope.ts';
import { sql } from '../../../test/task-fixtures.ts';
import { openSellingWebsite, PACK } from '../../../test/website/selling-website.ts';
import { openTestWebsite } from '../../../test/website/website.ts';
import { knownCustomer } from '../../billing/customers.ts';
import { setOffer } from '../../billing/offers.ts';
import { clawBack } from '../../ledger/debts.ts';
import { adjust, grant } from '../../ledger/ledger.ts';
import type { StatementLine } from './statement.ts';

const website = await openSellingWebsite();
const { db } = website.database;
const { simulator } = website;
const plan = { ...PACK, id: 'monthly', kind: 'plan', period: 'month' } as const;
await setOffer(db, plan);
const visitor = await website.signIn();

/** Buys the pack; returns the order and its Checkout session. */
async function buy(body = {}) {
  const order = { pack_id: 'small', ...body };
  const { status, body: made } = await visitor.write('/console/api/orders', order);
  assert.equal(status, 200, JSON.stringify(made));
  return { orderId: String(made.order_id), session: String(made.url).split('/').at(-1) ?? '' };
}

test('a customer buys a pack, comes back, and sees the credits and where they came from', async () => {
  const { body: offered } = await visitor.get('/console/api/packs');
  const { kind: _kind, period: _period, ...pack } = PACK;
  assert.deepEqual(offered.packs, [pack]);
  assert.equal(offered.plans[0].period, 'month');
  const { orderId, session } = await buy();
  const settle = () => visitor.write(`/console/api/orders/${orderId}/settle`);
  assert.equal((await settle()).body.state, 'pending');
  completeSession(simulator.state, session, 'now');
  assert.equal((await settle()).body.state, 'pending', 'Stripe was asked a moment ago');
  await db.query({ name: '', text: 'update orders set settled_at = null' });
  const { body: paid } = await settle();
  assert.deepEqual([paid.state, paid.booked, paid.name], ['paid', 1000, 'Small']);
  assert.equal((await visitor.get('/console/api/credits')).body.paid.available, 1000);
  const { body: orders } = await visitor.get('/console/api/orders');
  assert.equal(orders.items[0].id, orderId);
  const { body: statement } = await visitor.get('/console/api/statement');
  const [line] = statement.items;
  assert.deepEqual(
    [line.what, line.change, line.balance_after, line.order_id],
    ['Bought: Small', 1000, 1000, orderId],
  );
  const operator = await website.signIn({ isOperator: true });
  const { body: shown } = await operator.get(
    `/console/api/operator/accounts/${visitor.accountId}/statement`,
  );
  assert.deepEqual([shown.items[0].what, shown.items[0].order_id], ['Bought: Small', orderId]);
  const csv = await visitor.get('/console/api/statement.csv');
  assert.match(String(csv.headers['content-type']), /^text\/csv/);
  const [head = '', row] = csv.body.split('\r\n');
  assert.match(head ?? '', /^time,kind,what,change,/);
  assert.ok(
    row?.includes(`,paid,Bought: Small,1000,1000,granted,available,,${orderId},`),
    String(row),
  );
});

test('credits are worth what the last purchase cost, otherwise the smallest pack on sale', async () => {
  const customer = await website.signIn();
  const rate = async () => (await customer.get('/console/api/me')).body.rate;
  const smallest = { price: 1000, credits: 1000, currency: 'usd', by: 'in the smallest pack' };
  assert.deepEqual(await rate(), smallest);
  assert.deepEqual((await website.stranger.get('/console/api/site')).body.rate, smallest);
  for (const [kind, mode, state, by] of [
    ['pack', 'live', 'paid', 'in the smallest pack'],
    ['pack', 'test', 'failed', 'in the smallest pack'],
    ['reload', 'test', 'paid', 'at your last pack'],
    ['invoice', 'test', 'paid', 'with your plan'],
  ]) {
    await sql(
      db,
      `insert into orders (id, account_id, kind, offer_id, credits, price, currency, state, stripe_mode)
       values ($1, $2, $3, 'small', 500, 300, 'eur', $4, $5)`,
      [crypto.randomUUID(), customer.accountId, kind, state, mode],
    );
    const own = { price: 300, credits: 500, currency: 'eur', by };
    assert.deepEqual(await rate(), by === smallest.by ? smallest : own);
  }
  assert.equal((await customer.get('/console/api/me?mode=test')).body.rate, undefined);
});

test('a statement has the notes that are meant for the customer, and no others', async () => {
  const customer = await website.signIn();
  const { accountId } = customer;
  const named = (credits: number, name: string) => {
    return { accountId, credits, kind: 'paid', reference: `${name}:${accountId}` } as const;
  };
  await grant(db, named(500, 'signup'));
  await adjust(db, { ...named(-30, 'new'), note: 'booked twice' });
  const payment = `signup:${accountId}`;
  const back = { ...named(50, 'back'), payment, note: 'chargeback of a thief' };
  await clawBack(db, back, async () => {});
  const { body } = await customer.get('/console/api/statement');
  assert.deepEqual(
    body.items.map(({ what, note }: StatementLine) => [what, note]),
    [
      ['Payment reversed', null],
      ['Corrected by the operator', 'booked twice'],
      ['Sign-up credits', null],
    ],
  );
  const csv = await customer.get('/console/api/statement.csv');
  assert.match(csv.body, /Sign-up credits/);
  assert.match(csv.body, /booked twice/);
  assert.doesNotMatch(csv.body, /ticket 7|thief/);
});

test('a statement continues behind its cursor and shows what was asked for', async () => {
  const statement = (query: string) => visitor.get(`/console/api/statement?${query}`);
  const { body: first } = await statement('limit=1');
  assert.equal(first.items.length, 1);
  const { body: second } = await statement(`limit=1&cursor=${first.next}`);
  assert.deepEqual(second.items, []);
  assert.equal((await statement('group=videos')).body.items.length, 0);
  assert.equal((await statement('kind=promotional')).body.items.length, 0);
  assert.equal((await statement('from=2000-01-01&to=2100-01-01')).body.items.length, 1);
  for (const bad of ['from=yesterday', 'limit=0', 'limit=101', 'cursor=x', 'kind=gold', 'x=1']) {
    assertError(await statement(bad), 'invalid_request');
  }
});

test('a plan is bought, shown and managed at Stripe', async () => {
  const subscriber = await website.signIn();
  assertError(await subscriber.write('/console/api/portal'), 'not_found');
  const { body: opened } = await subscriber.write('/console/api/subscription', {
    plan_id: 'monthly',
  });
  completeSession(simulator.state, String(opened.url).split('/').at(-1) ?? '', 'now');
  const { body: settled } = await subscriber.write('/console/api/subscription/settle');
  assert.equal(settled.subscription.state, 'active');
  assert.deepEqual((await subscriber.get('/console/api/subscription')).body, settled);
  assert.equal((await subscriber.get('/console/api/credits')).body.paid.available, 1000);
  const { body: portal } = await subscriber.write('/console/api/portal');
  assert.match(portal.url, /\/p\/session\//);
  const again = await subscriber.write('/console/api/subscription', { plan_id: 'monthly' });
  assertError(again, 'invalid_request');
});

test('low-balance mail and auto-reload are switched on and off', async () => {
  const put = (path: string, body: object) => visitor.write(`/console/api/${path}`, body, 'PUT');
  assert.equal((await put('low-balance', { below: 200 })).body.alert_below, 200);
  assert.equal((await put('low-balance', { below: null })).body.alert_below, null);
  const wanted = { pack_id: 'small', below: 100, monthly_limit: 5000 };
  assertError(await put('auto-reload', { auto_reload: wanted }), 'invalid_request'); // no card
  const scope = { mode: 'test', account: null } as const;
  const customer = await knownCustomer(db, visitor.accountId, scope);
  saveCard(simulator.state, customer ?? '');
  await website.outdateProof(visitor);
  assertError(await put('auto-reload', { auto_reload: wanted }), 'proof_required');
  assert.equal((await put('auto-reload', { auto_reload: null })).status, 200);
  await visitor.write('/auth/proof/code', { act: 'auto_reload' });
  const code = website.outbox.at(-1)?.text.slice(0, 8);
  assert.equal((await visitor.write('/auth/proof/code/verify', { code })).status, 200);
  const { body: on } = await put('auto-reload', { auto_reload: wanted });
  await website.sendMails();
  assert.match(website.outbox.at(-1)?.subject ?? '', /^Auto-reload was set up/);
  assert.deepEqual(on.auto_reload, { ...wanted, stopped: null });
  assert.equal((await put('auto-reload', { auto_reload: null })).body.auto_reload, null);
  for (const bad of [{}, { below: 0 }, { below: 1.5 }, { below: '7' }, { below: 1, x: 1 }]) {
    assertError(await put('low-balance', bad), 'invalid_request');
  }
  const half = { pack_id: 'small' };
  for (const bad of [half, { ...wanted, pack_id: 'gone' }, { ...wanted, monthly_limit: 9 }]) {
    assertError(await put('auto-reload', { auto_reload: bad }), 'invalid_request');
  }
});

test('what is not sold, and a malformed body, are refused', async () => {
  const order = (body: object) => visitor.write('/console/api/orders', body);
  assertError(await order({ pack_id: 'gone' }), 'not_found');
  assertError(await order({ pack_id: 'monthly' }), 'not_found');
  assertError(await order({}), 'invalid_request');
  assertError(await order({ pack_id: 'small', price: 1 }), 'invalid_request');
});

test('while Stripe is down a purchase is refused, and nothing else is', async () => {
  const other = await website.signIn();
  simulator.loseResponses(20);
  assertError(await other.write('/console/api/orders', { pack_id: 'small' }), 'service_busy');
  simulator.loseResponses(0);
  assert.equal((await other.get('/console/api/credits')).status, 200);
});

test('where nothing is sold, packs are hidden and credits are shown', async () => {
  const plain = await openTestWebsite();
  const someone = await plain.signIn({ credits: 40 });
  assert.deepEqual((await someone.get('/console/api/packs')).body, {
    is_test: false,
    rate: null,
    packs: [],
    plans: [],
  });
  assertError(await someone.write('/console/api/orders', { pack_id: 'small' }), 'not_found');
  const { body } = await someone.get('/console/api/credits');
  assert.deepEqual([body.sells, body.paid.available], [false, 40]);
  const webhook = await plain.app.inject({ method: 'POST', url: '/webhooks/stripe' });
  assert.equal(webhook.statusCode, 404);
});
