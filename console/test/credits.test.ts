import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { withEmails } from '../../server/src/accounts/accounts.ts';
import { listOrders } from '../../server/src/billing/credit-order.ts';
import { setOffer } from '../../server/src/billing/offers.ts';
import { until } from '../../server/test/until.ts';
import { refund } from '../../simulators/stripe/payments.ts';
import { openSellingSite } from './selling-site.ts';
import { signedInPage } from './signed-in.ts';
import { expectNoViolations, open, settled, siteOf, test } from './site.ts';

const balance = (page: Page) => page.getByRole('region', { name: 'Balance' });
const purchases = (page: Page) => page.getByRole('table', { name: /^Purchases/ });
const changes = (page: Page) => page.getByRole('table', { name: /^Changes of credits/ });
const pay = (page: Page) => page.getByRole('button', { name: 'Pay', exact: true }).click();

const OPERATOR = 'operator@example.com';
const site = await siteOf(() => openSellingSite({ ADMIN_EMAILS: OPERATOR }));

/** The purchase in the operator's statement leads to its order. */
async function operatorSees(accountId: string): Promise<void> {
  const { page } = await signedInPage(site, { email: OPERATOR });
  const [owner] = await withEmails(site.database.db, [{ account_id: accountId }]);
  const account = page.locator(`a[href="/operator/accounts/${accountId}"]`);
  await page.goto('/operator/orders');
  const named = account.getByText(owner?.email ?? 'no address', { exact: true });
  await named.first().waitFor();
  await page.goto(`/operator/accounts/${accountId}`);
  await page.getByRole('row').filter({ hasText: 'Bought: Small' }).getByRole('link').click();
  await settled(page, 'Order');
  await page.getByRole('table', { name: 'Movements of its credits' }).waitFor();
  await named.waitFor();
  await expectNoViolations(page);
}

/** The statement has the times of its filters, wherever its reader is. */
async function expectUtc(page: Page): Promise<void> {
  await changes(page).getByRole('columnheader', { name: 'Time (UTC)' }).waitFor();
  const time = changes(page).getByRole('cell').locator('time').first();
  const hour = (await time.getAttribute('datetime'))?.slice(11, 19);
  assert.match(await time.innerText(), new RegExp(`${hour}$`));
}

test('a pack is bought at the payment page, and its credits are there at once', async () => {
  const { page, accountId } = await signedInPage(site, { timezoneId: 'Asia/Tokyo' });
  await open(page, '/credits', 'Credits');
  await page.getByText('No entries yet').waitFor();
  await page.getByRole('link', { name: 'Playground' }).first().click();
  await page.getByRole('link', { name: 'Add credits' }).click();
  await page.getByRole('button', { name: 'Buy for $10.00: Small' }).click();
  await page.getByRole('button', { name: 'Fail' }).click();
  await page.getByText('Your card was declined.').waitFor();
  await pay(page);
  await page.getByText('were added to your balance').waitFor();
  await balance(page).getByText('1\u2009000').waitFor();
  await operatorSees(accountId);
  await changes(page).getByText('Bought: Small').waitFor();
  await expectUtc(page);
  await purchases(page).getByText('Paid').waitFor();
  await expectNoViolations(page);
  const [csv] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download CSV' }).click(),
  ]);
  assert.equal(csv.suggestedFilename(), 'credits.csv');
});

test('the prices show strangers what is sold', async () => {
  const page = await site.newPage();
  await page.goto('/pricing');
  const offers = page.getByRole('table', { name: 'Packs and plans' });
  const row = offers.getByRole('row').filter({ hasText: 'Hobby' });
  await row.waitFor();
  await page.getByRole('note').filter({ hasText: 'no money is taken' }).waitFor();
  assert.match(await row.innerText(), /each month\s+after 62 days\s+3.000\s+\$20\.00\s+\$6\.67/);
  await expectNoViolations(page);
  await page.setViewportSize({ width: 375, height: 760 });
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 375);
});

test('who leaves the payment page has paid nothing', async () => {
  const { page } = await signedInPage(site, { credits: 70 });
  await page.goto('/credits');
  await page.getByRole('button', { name: 'Buy for $50.00: Large' }).click();
  await page.getByRole('link', { name: 'Cancel' }).click();
  await page.getByText('Nothing was charged').waitFor();
  await balance(page).getByText('70', { exact: true }).waitFor();
  await purchases(page).getByText('Not paid yet').waitFor();
});

test('a bank transfer under way says so, and is not to be paid again', async () => {
  const { page } = await signedInPage(site);
  await page.goto('/credits');
  await page.getByRole('button', { name: 'Buy for $10.00: Small' }).click();
  await page.getByRole('button', { name: 'Pay by bank transfer' }).click();
  await page.getByRole('status').getByText('Payment under way').waitFor();
  await purchases(page).getByText('Payment under way').waitFor();
  assert.equal(await purchases(page).getByRole('link', { name: 'Pay' }).count(), 0);
  await expectNoViolations(page);
});

/** Packs whose currency Stripe counts in another way than Intl: what people pay, and get back. */
const ELSEWHERE = [
  ['huf', 199_000, 'HUF\u00a01,990.00', '1990', 'HUF\u00a01.00'],
  ['ugx', 1_850_000, 'UGX\u00a018,500', '18500', 'UGX\u00a01'],
  ['kwd', 1530, 'KWD\u00a01.530', '1.53', 'KWD\u00a00.100'],
  ['jpy', 750, '¥750', '750', '¥100'],
] as const;

async function sellElsewhere(): Promise<void> {
  for (const [currency, price] of ELSEWHERE) {
    const terms = { name: `In ${currency}`, credits: 1000, price, currency, expires_days: null };
    const { db } = site.database;
    await setOffer(db, { ...terms, id: currency, kind: 'pack', period: null });
    const plan = { ...terms, id: `plan-${currency}`, kind: 'plan', period: 'month' } as const;
    await setOffer(db, plan);
  }
}

/** Buys a pack, of which 100 units are then given back. */
async function buyAndRefund(page: Page, currency: string, text: string): Promise<void> {
  await page.goto('/credits');
  await page.getByRole('button', { name: `Buy for ${text}: In ${currency}` }).click();
  const asked = await page.locator('.price').innerText();
  assert.ok(asked.startsWith(text), `the payment page asks for ${asked}, not ${text}`);
  await pay(page);
  await page.getByText('were added to your balance').waitFor();
  const { state } = site.simulator;
  const payment = state.all('payment_intent').find((one) => one.currency === currency);
  refund(state, payment?.id ?? '', 100);
}

test('money is shown everywhere as Stripe charges it', async () => {
  await sellElsewhere();
  const { page } = await signedInPage(site);
  for (const [currency, , text] of ELSEWHERE) await buyAndRefund(page, currency, text);
  await page.goto('/credits');
  for (const [, , text] of ELSEWHERE) await purchases(page).getByText(text).waitFor();
  for (const [currency, , text] of ELSEWHERE) {
    const pack = page.getByRole('listitem').filter({ hasText: `In ${currency}` });
    await pack.getByText(`${text} per 1`).waitFor();
  }
  await page.getByText('By subscription').click();
  for (const [currency, , text] of ELSEWHERE) {
    const name = `Buy for ${text} a month: In ${currency}`;
    await page.getByRole('button', { name }).waitFor();
  }
  await page.getByRole('switch', { name: 'Auto-reload' }).check();
  for (const [currency, , text, least] of ELSEWHERE) {
    const label = `In ${currency}: 1\u2009000 credits, ${text}`;
    await page.getByLabel('Buy this pack').selectOption({ label });
    const limit = page.getByLabel(`At most each month, ${currency.toUpperCase()}`);
    assert.equal(await limit.getAttribute('min'), least);
  }
  await page.goto('/pricing');
  const offers = page.getByRole('table', { name: 'Packs and plans' }).getByRole('row');
  for (const [currency, , text] of ELSEWHERE) {
    const row = offers.filter({ hasText: `In ${currency}` }).first();
    await row.waitFor();
    assert.equal(await row.getByText(text, { exact: true }).count(), 2, currency);
  }
  await operatorSeesMoney();
});

async function operatorSeesMoney(): Promise<void> {
  const { db } = site.database;
  await until(async () => {
    const refunded = (await listOrders(db, { limit: 100 })).filter((order) => order.refunded > 0);
    return refunded.length === ELSEWHERE.length;
  });
  const { page } = await signedInPage(site, { email: OPERATOR });
  for (const [, , text, , refunded] of ELSEWHERE) {
    await page.goto('/operator/orders');
    const row = page.getByRole('row').filter({ hasText: text });
    await row.getByText(refunded, { exact: true }).waitFor();
    await row.getByRole('link').first().click();
    await settled(page, 'Order');
    assert.equal(await page.getByText(text, { exact: true }).count(), 2, 'price and paid');
    await page.getByText(refunded).first().waitFor();
  }
}

test('a plan is subscribed to, and cancelled in the portal', async () => {
  const { page } = await signedInPage(site);
  await page.goto('/credits');
  await page.getByText('By subscription').click();
  await page.getByRole('button', { name: 'Buy for $20.00 a month: Hobby' }).click();
  await pay(page);
  await page.getByText('Your subscription is active').waitFor();
  await balance(page).getByText('3\u2009000').first().waitFor();
  await page.getByRole('button', { name: 'Manage' }).click();
  await page.getByRole('button', { name: /^Cancel at/ }).click();
  await page.getByRole('button', { name: 'Return' }).click();
  await page.getByText(/^It ends on/).waitFor();
  await page.getByRole('switch', { name: 'Auto-reload' }).check();
  await page.getByRole('switch', { name: 'Send me an e-mail' }).check();
  await expectNoViolations(page);
  await page.getByRole('button', { name: 'Save auto-reload' }).click();
  await page.getByText('Auto-reload is on.').waitFor(); // the card of the subscription is saved
});

test('a read that another one replaces shows no error', async () => {
  const { page } = await signedInPage(site);
  let reads = 0;
  const again = Promise.withResolvers<void>();
  const checked = Promise.withResolvers<void>();
  await page.route('**/console/api/credits', async (route) => {
    reads += 1;
    if (reads === 1) return; // it hangs
    again.resolve();
    await checked.promise;
    await route.continue();
  });
  await page.goto('/credits?managed=yes'); // reads the credits again when Stripe was asked
  await again.promise;
  assert.equal(await page.getByRole('alert').filter({ hasText: 'loaded' }).count(), 0);
  checked.resolve();
  await balance(page).getByText('Paid').waitFor();
});
