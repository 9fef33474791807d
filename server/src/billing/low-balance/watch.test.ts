import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { openDispute } from '../../../../simulators/stripe/money/disputes.ts';
import { cardOf } from '../../../../simulators/stripe/payments.ts';
import { type BillingFixture, openBillingFixture } from '../../../test/billing/billing-fixture.ts';
import { assertRejectsWith } from '../../../test/billing/rejects.ts';
import { until } from '../../../test/until.ts';
import { ordersOf } from '../credit-order.ts';
import { knownCustomer } from '../customers.ts';
import { startBillingJobs } from '../jobs.ts';
import { stopReload } from './reload.ts';
import { readLowBalance, setAlert, setReload } from './settings.ts';
import { mailBalances, reloadBalances } from './watch.ts';

let fixture: BillingFixture;

before(async () => {
  fixture = await openBillingFixture({ retries: 0 });
});
after(() => fixture.close());
beforeEach(() => {
  fixture.mails.length = 0;
  fixture.mailFails = false;
});

async function watch(): Promise<void> {
  await reloadBalances(fixture.watched, fixture.deps);
  await mailBalances(fixture.watched);
}

test('a mail is sent once per shortage, however many processes look', async () => {
  const accountId = await fixture.customerWith(100);
  await setAlert(fixture.deps.db, accountId, 500);
  await Promise.all([watch(), watch(), watch()]);
  await watch();
  assert.equal(fixture.mails.length, 1);
  assert.match(fixture.mails[0]?.subject ?? '', /100 credits/);
  await fixture.change(accountId, 900);
  await watch();
  await fixture.change(accountId, -900);
  await watch();
  assert.equal(fixture.mails.length, 2);
});

test('a mail that could not be sent is sent five minutes later', async (t) => {
  t.after(() => fixture.database.setClock(0));
  const accountId = await fixture.customerWith(100);
  await setAlert(fixture.deps.db, accountId, 500);
  fixture.mailFails = true;
  await watch();
  fixture.mailFails = false;
  await watch();
  assert.equal(fixture.mails.length, 0, 'its response may be lost');
  await fixture.database.setClock(301);
  await watch();
  await watch();
  assert.equal(fixture.mails.length, 1);
});

test('a claim that is in the future, since the clock was set back, holds up no mail', async (t) => {
  t.after(() => fixture.database.setClock(0));
  const accountId = await fixture.customerWith(100);
  await setAlert(fixture.deps.db, accountId, 500);
  fixture.mailFails = true;
  await fixture.database.setClock(3600);
  await watch();
  fixture.mailFails = false;
  await fixture.database.setClock(0);
  await watch();
  assert.equal(fixture.mails.length, 1);
});

test('a mail whose process dies before it is noted as sent is sent again', async (t) => {
  t.after(() => fixture.database.setClock(0));
  const accountId = await fixture.customerWith(100);
  await setAlert(fixture.deps.db, accountId, 500);
  const sending = Promise.withResolvers<void>();
  const end = Promise.withResolvers<boolean>();
  const dying = mailBalances({
    ...fixture.watched,
    sendMail: () => {
      sending.resolve();
      return end.promise;
    },
  });
  await sending.promise;
  await watch();
  assert.equal(fixture.mails.length, 0, 'it may be on its way');
  await fixture.database.setClock(301);
  await Promise.all([watch(), watch()]);
  await watch();
  assert.equal(fixture.mails.length, 1);
  end.resolve(false); // it was alive all the same, and its claim is void
  await dying;
  await watch();
  assert.equal(fixture.mails.length, 1);
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
  assert.equal((await ordersOf(fixture.deps.db, accountId, { limit: 10 })).length, 3);
});

test('a mail server that hangs does not hold up a purchase', async () => {
  const accountId = await fixture.customerWith(100);
  await setAlert(fixture.deps.db, accountId, 500);
  await setReload(fixture.deps, accountId, RELOAD);
  const stop = new AbortController();
  const { promise: hangs, resolve: fail } = Promise.withResolvers<boolean>();
  startBillingJobs({ ...fixture.watched, sendMail: () => hangs, signal: stop.signal });
  const read = async () => (await fixture.balance(accountId)).available;
  await until(read, (available) => available === 1100).finally(() => {
    stop.abort();
    fail(false);
  });
});

test('processes that order for many accounts at once order once for each', async () => {
  const accounts: string[] = [];
  for (let n = 0; n < 5; n += 1) accounts.push(await fixture.customerWith(100));
  for (const accountId of accounts) await setReload(fixture.deps, accountId, RELOAD);
  await Promise.all(Array.from({ length: 8 }, watch));
  for (const accountId of accounts) {
    assert.equal((await fixture.balance(accountId)).available, 1100);
  }
});

test('a card that is declined stops it, and the customer is told once', async () => {
  const accountId = await fixture.customerWith(100);
  await setReload(fixture.deps, accountId, RELOAD);
  const customer = (await knownCustomer(fixture.deps.db, accountId)) ?? '';
  const card = cardOf(fixture.simulator.state, customer);
  if (card) card.declines = true;
  await watch();
  await watch();
  await watch();
  assert.deepEqual(
    fixture.mails.map(({ subject }) => subject),
    ['Auto-reload is stopped'],
  );
  const { auto_reload: reload } = await readLowBalance(fixture.deps.db, accountId);
  assert.equal(reload?.stopped, 'insufficient_funds');
  const [order] = await ordersOf(fixture.deps.db, accountId, { limit: 1 });
  assert.deepEqual([order?.kind, order?.state], ['reload', 'failed']);
  if (card) card.declines = false;
  await setReload(fixture.deps, accountId, RELOAD);
  await watch();
  assert.equal((await fixture.balance(accountId)).available, 1100);
});

/** An account whose auto-reload has stopped; nobody was told yet. */
async function stopped() {
  const accountId = await fixture.customerWith(100);
  await setReload(fixture.deps, accountId, RELOAD);
  await stop(accountId);
  return accountId;
}

function stop(accountId: string): Promise<void> {
  return fixture.deps.db.transaction((tx) => stopReload(tx, accountId, 'insufficient_funds'));
}

/** Sends the mails that are due, and does this while each is on its way. */
function mailDuring(meanwhile: () => Promise<void>): Promise<void> {
  const sendMail: typeof fixture.watched.sendMail = async (mail) => {
    await meanwhile();
    return fixture.watched.sendMail(mail);
  };
  return mailBalances({ ...fixture.watched, sendMail });
}

test('a setting that is changed while a mail of the other kind is sent repeats neither', async () => {
  const accountId = await stopped();
  await mailDuring(() => setAlert(fixture.deps.db, accountId, 500));
  await mailBalances(fixture.watched);
  await mailBalances(fixture.watched);
  const subjects = fixture.mails.map(({ subject }) => subject);
  assert.deepEqual(subjects, ['Auto-reload is stopped', 'Your balance is low: 100 credits']);
});

test('a stop while the mail about the balance is sent repeats neither', async () => {
  const accountId = await fixture.customerWith(100);
  await setReload(fixture.deps, accountId, RELOAD);
  await setAlert(fixture.deps.db, accountId, 500);
  await mailDuring(() => stop(accountId));
  await mailBalances(fixture.watched);
  await mailBalances(fixture.watched);
  const subjects = fixture.mails.map(({ subject }) => subject);
  assert.deepEqual(subjects, ['Your balance is low: 100 credits', 'Auto-reload is stopped']);
});

test('a second stop while the mail about the first one is sent gets a mail of its own', async () => {
  const accountId = await stopped();
  await mailDuring(async () => {
    await setReload(fixture.deps, accountId, RELOAD);
    await stop(accountId);
  });
  await mailBalances(fixture.watched);
  await mailBalances(fixture.watched);
  assert.equal(fixture.mails.length, 2);
});

test('a dispute stops it', async () => {
  const accountId = await fixture.customerWith(999);
  await setReload(fixture.deps, accountId, RELOAD);
  const [order] = await ordersOf(fixture.deps.db, accountId, { limit: 1 });
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
