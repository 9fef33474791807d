import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { completeSession } from '../../../simulators/stripe/checkout.ts';
import { openDispute, pay } from '../../../simulators/stripe/payments.ts';
import { renew } from '../../../simulators/stripe/subscriptions.ts';
import { openBillingFixture } from '../../test/billing/billing-fixture.ts';
import { sql } from '../../test/task-fixtures.ts';
import { settleDue } from '../billing/sweep.ts';
import { listActions } from '../operator/actions.ts';
import { parseCommandLine } from './command-line.ts';

const fixture = await openBillingFixture();
const { db } = fixture.deps;

async function run(...args: string[]) {
  const { run: perform } = await parseCommandLine([...args, '--json']);
  return JSON.parse(JSON.stringify(await perform({ db })));
}

const PACK = ['--name', 'Big pack', '--credits', '5000', '--price', '4500', '--currency', 'EUR'];
const WHY = ['--reason', 'new prices'];

test('a pack is set, changed, retired and sold again; each change is recorded', async () => {
  const set = () => run('packs', 'set', 'big', ...PACK, '--expires-days', '365', ...WHY);
  const big = { kind: 'pack', period: null, id: 'big', name: 'Big pack', credits: 5000 };
  const terms = { price: 4500, currency: 'eur', expires_days: 365, active: true };
  assert.deepEqual(await set(), { ...big, ...terms, changed: true });
  assert.equal((await set()).changed, false);
  assert.equal((await run('packs', 'retire', 'big', ...WHY)).changed, true);
  assert.equal((await run('packs', 'retire', 'big', ...WHY)).changed, false);
  assert.equal(
    (await run('packs', 'list')).find(({ id }: { id: string }) => id === 'big').active,
    false,
  );
  assert.equal((await set()).changed, true);
  const actions = await listActions(db, { target: 'big', limit: 10 });
  assert.deepEqual(
    actions.map(({ command, reason }) => [command, reason]),
    [
      ['packs set', 'new prices'],
      ['packs retire', 'new prices'],
      ['packs set', 'new prices'],
    ],
  );
});

test('a plan has a period, and an id of its own', async () => {
  const plan = ['plans', 'set', 'year', ...PACK, '--period', 'year', ...WHY];
  assert.equal((await run(...plan)).period, 'year');
  await assert.rejects(run('plans', 'set', 'small', ...PACK, ...WHY), /id of a pack/);
  await assert.rejects(run('plans', 'set', 'x', ...PACK, '--period', 'week', ...WHY), /--period/);
});

test('a pack keeps its currency, in which customers have set limits', async () => {
  const terms = ['--name', 'Small', '--credits', '1000', '--price', '1000', '--currency'];
  await assert.rejects(run('packs', 'set', 'small', ...terms, 'KRW', ...WHY), /sold in usd/);
  const small = (await run('packs', 'list')).find(({ id }: { id: string }) => id === 'small');
  assert.equal(small.currency, 'usd');
});

test('packs and plans with invalid values are refused', async () => {
  const wrong = [
    ['packs', 'set', 'Big', ...PACK],
    ['packs', 'set', 'a', ...PACK.with(3, '0')],
    ['packs', 'set', 'a', ...PACK.with(5, '45.00')],
    ['packs', 'set', 'a', ...PACK.with(7, 'euro')],
    ['packs', 'set', 'a', ...PACK.with(5, '4550').with(7, 'UGX')],
    ['packs', 'set', 'a', ...PACK.with(5, '4501').with(7, 'KWD')],
    ['packs', 'set', 'a', ...PACK, '--expires-days', '0'],
    ['packs', 'set', 'a', '--name', 'A'],
    ['packs', 'retire', 'nothing'],
  ];
  for (const line of wrong) await assert.rejects(run(...line, ...WHY), { name: 'UsageError' });
});

test('orders are listed, shown and settled on demand', async () => {
  const accountId = await fixture.customer();
  const { id, stripe_id: session } = await fixture.buy(accountId);
  const { webhooks, state } = fixture.simulator;
  webhooks.delivery = { lost: 1, twice: 0, lateMs: 0 };
  const { payment_intent: payment } = completeSession(state, session ?? '', 'now');
  openDispute(state, payment ?? '', { amount: 300 });
  const settled = await withWorker('orders', 'settle', id);
  assert.deepEqual([settled.state, settled.booked, settled.changed], ['paid', 700, true]);
  const [listed] = await run('orders', 'list', '--disputed');
  assert.deepEqual([listed.order_id, listed.dispute, listed.disputed], [id, 'needs_response', 300]);
  assert.equal((await run('orders', 'list', '--account', accountId)).length, 1);
  assert.deepEqual(await run('orders', 'list', '--state', 'failed'), []);
  for (const { id: atStripe } of [...state.all('charge'), ...state.all('dispute')]) {
    assert.equal((await withWorker('orders', 'settle', atStripe)).order_id, id, atStripe);
  }
  const shown = await run('orders', 'show', id);
  assert.deepEqual(shown.movements, [{ reference: `order:${id}:1`, credits: 700 }]);
  await assert.rejects(run('orders', 'show', 'ord_none'), /there is no order/);
  await assert.rejects(run('orders', 'list', '--state', 'gone'), /--state must be pending/);
});

/** Runs a command while a worker settles what is due. */
async function withWorker(...args: string[]) {
  let isOver = false;
  const settling = (async () => {
    while (!isOver) await settleDue(fixture.deps).then(() => delay(50));
  })();
  try {
    return await run(...args);
  } finally {
    isOver = true;
    await settling;
  }
}

test('the order of an invoice or payment whose events were lost is found, or made', async () => {
  const { webhooks, state } = fixture.simulator;
  webhooks.delivery = { lost: 1, twice: 0, lateMs: 0 };
  const accountId = await fixture.customer();
  const plan = await fixture.subscribe(accountId, 'hobby');
  const { subscription = '' } = completeSession(state, plan.session, 'now');
  const [invoice] = state.all('invoice');
  const update = 'update subscriptions set due_at = null, stripe_checkout = null where id = $1';
  await sql(db, update, [plan.id]);
  assert.equal((await withWorker('orders', 'settle', invoice?.id ?? '')).booked, 3000);

  renew(state, subscription ?? '');
  const [renewal] = state.all('invoice');
  const intent = renewal?.payments.data[0]?.payment.payment_intent ?? '';
  assert.equal((await withWorker('orders', 'settle', intent)).booked, 3000);
  assert.equal((await withWorker('orders', 'settle', intent)).changed, false);

  const pack = await fixture.buy(accountId);
  const paid = completeSession(state, pack.stripe_id ?? '', 'now');
  await sql(
    db,
    `update orders set stripe_id = null, due_at = null, state = 'expired' where id = $1`,
    [pack.id],
  );
  const settled = await withWorker('orders', 'settle', paid.payment_intent ?? '');
  assert.deepEqual([settled.order_id, settled.state, settled.booked], [pack.id, 'paid', 1000]);
  const [action] = await listActions(db, { target: paid.payment_intent ?? '', limit: 1 });
  assert.equal(action?.command, 'orders settle');
});

test('an invoice or payment that has no order says why', async () => {
  const { state } = fixture.simulator;
  const strange = { amount: 5, currency: 'usd', customer: null, method: undefined };
  const answers = [
    [pay(state, { ...strange, metadata: {} }).id, /it was not made for an order/],
    [pay(state, { ...strange, metadata: { order: 'ord_gone' } }).id, /ord_gone is unknown here/],
    ['in_none', /Stripe has no such id in test mode of acct_first,/],
    ['pi_none', /Stripe has no such id/],
  ] as const;
  for (const [id, words] of answers)
    await assert.rejects(withWorker('orders', 'settle', id), words);
  const { session } = await fixture.subscribe(await fixture.customer(), 'hobby');
  completeSession(state, session, 'later');
  const [invoice] = state.all('invoice');
  await assert.rejects(withWorker('orders', 'settle', invoice?.id ?? ''), /it is not paid/);
});
