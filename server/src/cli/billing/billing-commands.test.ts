import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { completeSession } from '../../../../simulators/stripe/checkout.ts';
import { openDispute } from '../../../../simulators/stripe/money/disputes.ts';
import { type BillingFixture, openBillingFixture } from '../../../test/billing/billing-fixture.ts';
import { settleDue } from '../../billing/sweep.ts';
import { listActions } from '../../operator/actions.ts';
import { parseCommandLine } from '../command-line.ts';

let fixture: BillingFixture;

before(async () => {
  fixture = await openBillingFixture();
});
after(() => fixture.close());

async function does(...args: string[]) {
  const parsed = parseCommandLine([...args, '--json']);
  return JSON.parse(JSON.stringify(await parsed.command.run(fixture.deps.db, parsed)));
}

/** Settles what is due, as a worker does. */
async function sweepUntil(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await settleDue(fixture.deps);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const PACK = ['--name', 'Big pack', '--credits', '5000', '--price', '4500', '--currency', 'EUR'];
const WHY = ['--reason', 'new prices'];

test('a pack is set, changed, retired and sold again; each change is recorded', async () => {
  const set = () => does('packs', 'set', 'big', ...PACK, '--expires-days', '365', ...WHY);
  const big = { kind: 'pack', period: null, id: 'big', name: 'Big pack', credits: 5000 };
  const terms = { price: 4500, currency: 'eur', expires_days: 365, active: true };
  assert.deepEqual(await set(), { ...big, ...terms, changed: true });
  assert.equal((await set()).changed, false);
  assert.equal((await does('packs', 'retire', 'big', ...WHY)).changed, true);
  assert.equal((await does('packs', 'retire', 'big', ...WHY)).changed, false);
  assert.equal(
    (await does('packs', 'list')).find(({ id }: { id: string }) => id === 'big').active,
    false,
  );
  assert.equal((await set()).changed, true);
  const actions = await listActions(fixture.deps.db, { target: 'big', limit: 10 });
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
  assert.equal((await does(...plan)).period, 'year');
  await assert.rejects(does('plans', 'set', 'small', ...PACK, ...WHY), /id of a pack/);
  await assert.rejects(does('plans', 'set', 'x', ...PACK, '--period', 'week', ...WHY), /--period/);
});

test('a pack keeps its currency, in which customers have set limits', async () => {
  const terms = ['--name', 'Small', '--credits', '1000', '--price', '1000', '--currency'];
  await assert.rejects(does('packs', 'set', 'small', ...terms, 'KRW', ...WHY), /sold in usd/);
  const small = (await does('packs', 'list')).find(({ id }: { id: string }) => id === 'small');
  assert.equal(small.currency, 'usd');
});

test('values that can not be sold are refused', async () => {
  const wrong = [
    ['packs', 'set', 'Big', ...PACK],
    ['packs', 'set', 'a', ...PACK.with(3, '0')],
    ['packs', 'set', 'a', ...PACK.with(3, '1.5')],
    ['packs', 'set', 'a', ...PACK.with(5, '45.00')],
    ['packs', 'set', 'a', ...PACK.with(5, '-1')],
    ['packs', 'set', 'a', ...PACK.with(7, 'euro')],
    ['packs', 'set', 'a', ...PACK.with(5, '4550').with(7, 'UGX')],
    ['packs', 'set', 'a', ...PACK.with(5, '4501').with(7, 'KWD')],
    ['packs', 'set', 'a', ...PACK, '--expires-days', '0'],
    ['packs', 'set', 'a', '--name', 'A'],
    ['packs', 'retire', 'nothing'],
  ];
  for (const line of wrong) await assert.rejects(does(...line, ...WHY), { name: 'UsageError' });
});

test('orders are listed, shown and settled on demand', async () => {
  const accountId = await fixture.customer();
  const { id, stripe_id: session } = await fixture.buy(accountId);
  const { webhooks, state } = fixture.simulator;
  webhooks.delivery = { lost: 1, twice: 0, lateMs: 0 };
  const { payment_intent: payment } = completeSession(state, session ?? '', 'now');
  openDispute(state, payment ?? '', { amount: 300 });
  const worker = new AbortController();
  const working = sweepUntil(worker.signal);
  const settled = await does('orders', 'settle', id);
  worker.abort();
  await working;
  assert.deepEqual([settled.state, settled.booked, settled.changed], ['paid', 700, true]);
  const [listed] = await does('orders', 'list', '--disputed');
  assert.deepEqual([listed.order_id, listed.dispute, listed.disputed], [id, 'needs_response', 300]);
  assert.equal((await does('orders', 'list', '--account', accountId)).length, 1);
  assert.deepEqual(await does('orders', 'list', '--state', 'failed'), []);
  const shown = await does('orders', 'show', id);
  assert.deepEqual(shown.movements, [{ reference: `order:${id}:1`, credits: 700 }]);
  await assert.rejects(does('orders', 'show', 'ord_none'), /there is no order/);
  await assert.rejects(does('orders', 'list', '--state', 'gone'), /--state must be one of/);
});
