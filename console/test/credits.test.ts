import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { withEmails } from '../../server/src/accounts/accounts.ts';
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
