import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { cardOf, openDispute } from '../../../../simulators/stripe/payments.ts';
import { openBillingFixture } from '../../../test/billing/billing-fixture.ts';
import { assertRejectsWith } from '../../../test/billing/rejects.ts';
import { sql } from '../../../test/task-fixtures.ts';
import { createEndpoint } from '../../webhooks/endpoints.ts';
import { listOrders } from '../credit-order.ts';
import { knownCustomer } from '../customers.ts';
import { stopReload } from './reload.ts';
import { readLowBalance, setAlert, setReload } from './settings.ts';
import { mailBalances, reloadBalances } from './watch.ts';

const fixture = await openBillingFixture({ retries: 0 });
after(() => fixture.close());

async function watch(): Promise<void> {
  await reloadBalances(fixture.watched, fixture.deps);
  await mailBalances(fixture.watched);
}

test('a mail and an event are written once per shortage, however many processes look', async () => {
  const { db } = fixture.deps;
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
  assert.deepEqual(
    events.map(({ data }) => data),
    [event, event],
  );
});

const RELOAD = { pack_id: 'small', below: 500, monthly_limit: 2500 };

test('a pack is bought once when the balance falls, within the limit of the month', async () => {
  const accountId = await fixture.customerWith(100);
  await setReload(fixture.deps, accountId, RELOAD);
  await Promise.all(Array.from({ length: 8 }, watch));
  assert.equal((await fixture.balance(accountId)).available, 1100);
  for (const expected of [1100, 100]) {
    await fixture.change(accountId, -1000);
    await watch();
    assert.equal((await fixture.balance(accountId)).available, expected);
  }
  assert.equal((await listOrders(fixture.deps.db, { accountId, limit: 10 })).length, 3);
});

test('a card that is declined stops it, and the customer is told once', async () => {
  const accountId = await fixture.customerWith(100);
  await setReload(fixture.deps, accountId, RELOAD);
  const customer = (await knownCustomer(fixture.deps.db, accountId, fixture.deps.scope)) ?? '';
  const card = cardOf(fixture.simulator.state, customer);
  if (card) card.declines = true;
  await watch();
  await watch();
  await watch();
  assert.deepEqual(await fixture.mailsTo(accountId), ['Auto-reload is stopped']);
  const { auto_reload: reload } = await readLowBalance(fixture.deps.db, accountId);
  assert.equal(reload?.stopped, 'insufficient_funds');
  const [order] = await listOrders(fixture.deps.db, { accountId, limit: 1 });
  assert.deepEqual([order?.kind, order?.state], ['reload', 'failed']);
  if (card) card.declines = false;
  await setReload(fixture.deps, accountId, RELOAD);
  await watch();
  assert.equal((await fixture.balance(accountId)).available, 1100);
});

test('a second stop gets a mail of its own', async () => {
  const accountId = await fixture.customerWith(100);
  for (let stops = 0; stops < 2; stops += 1) {
    await setReload(fixture.deps, accountId, RELOAD);
    const why = 'insufficient_funds';
    await fixture.deps.db.transaction((tx) => stopReload(tx, fixture.deps, { accountId, why }));
  }
  assert.equal((await fixture.mailsTo(accountId)).length, 2);
});

test('a dispute stops it', async () => {
  const accountId = await fixture.customerWith(999);
  await setReload(fixture.deps, accountId, RELOAD);
  const [order] = await listOrders(fixture.deps.db, { accountId, limit: 1 });
  openDispute(fixture.simulator.state, order?.stripe_payment ?? '');
  await fixture.settled();
  await watch();
  assert.deepEqual(await fixture.balance(accountId), { available: 0, debt: 1 });
  const { auto_reload: reload } = await readLowBalance(fixture.deps.db, accountId);
  assert.equal(reload?.stopped, 'a payment is disputed');
});

test('it can be switched on only where it could work', async () => {
  const accountId = await fixture.customerWith(100);
  const bad = [
    { ...RELOAD, pack_id: 'gone' },
    { ...RELOAD, monthly_limit: 999 },
  ];
  for (const wanted of bad) {
    await assertRejectsWith(setReload(fixture.deps, accountId, wanted), 'invalid_request');
  }
  const withoutCard = await fixture.customer();
  await assertRejectsWith(setReload(fixture.deps, withoutCard, RELOAD), 'invalid_request');
});
