import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { LONG_EMAIL, overflowsOf, signedInWithLongTexts } from './long-texts.ts';
import { accountPages, operatorPages } from './pages.ts';
import { openSellingSite, orderOf } from './selling-site.ts';
import { signedInPage } from './signed-in.ts';
import { expectNoViolations, open, settled, siteOf, test } from './site.ts';

const site = await siteOf(() => openSellingSite({ ADMIN_EMAILS: LONG_EMAIL }));

test('the balance is in sight, and the menu works by keyboard', async () => {
  const { page } = await signedInPage(site, { email: 'ada@example.com', credits: 12_840 });
  await open(page, '/settings', 'Settings');
  await page.getByRole('link', { name: /12.840.*credits available/ }).waitFor();
  const menu = page.locator('summary[aria-label="Account"]');
  await menu.focus();
  await page.keyboard.press('Enter');
  await page.getByRole('banner').getByText('ada@example.com').waitFor();
  await expectNoViolations(page);
  await page.keyboard.press('Escape');
  await page.getByRole('banner').getByText('ada@example.com').waitFor({ state: 'hidden' });
  assert.equal(await menu.evaluate((element) => element === document.activeElement), true);
});

test('what the keyboard reaches is in sight, and it can skip to the content', async () => {
  const { page } = await signedInPage(site);
  await page.setViewportSize({ width: 375, height: 760 });
  await open(page, '/settings', 'Settings');
  const last = page.getByRole('button', { name: 'Delete the account' });
  const theme = page.getByRole('radio', { name: 'As the system' });
  const isFocused = (one: Locator) => one.evaluate((it) => it === document.activeElement);
  for (let steps = 0; steps < 20 && !(await isFocused(last)); steps += 1) {
    await page.keyboard.press('Tab');
    assert.equal(await coverOfFocus(page), null);
    if (!(await isFocused(theme))) continue;
    const ring = await theme.evaluate(
      (it) => getComputedStyle(it.closest('label') ?? it).outlineWidth,
    );
    assert.equal(ring, '2px');
  }
  assert.ok(await isFocused(last));
  await page.reload();
  await settled(page, 'Settings');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  assert.ok(await isFocused(theme));
});

test('no page scrolls sideways, from 320 to 1920 px, however long its texts', async () => {
  const { page, accountId, endpointId, tasks } = await signedInWithLongTexts(site);
  const orderId = await orderOf(page, site.url);
  const paths = [
    '/',
    '/pricing',
    '/status',
    '/no/such/page',
    `/webhooks/${endpointId}`,
    `/operator/orders/${orderId}`,
    ...[...accountPages({ tasks }), ...operatorPages({ accountId, tasks })].map(
      ([path = '']) => path,
    ),
  ];
  const found: string[] = [];
  for (const path of paths) found.push(...(await overflowsOf(page, path)));
  const stranger = await site.newPage();
  for (const path of ['/', '/pricing', '/status', '/verify', '/report', '/sign-in']) {
    found.push(...(await overflowsOf(stranger, path)));
  }
  assert.deepEqual(found, []);
});

/** What covers the element that has the keyboard; null: nothing. */
function coverOfFocus(page: Page): Promise<string | null> {
  return page.evaluate(() => {
    const focused = document.activeElement ?? document.body;
    const { left, width, top, bottom } = focused.getBoundingClientRect();
    for (const y of [top + 1, bottom - 1]) {
      const cover = document.elementFromPoint(left + width / 2, y)?.closest('header, nav');
      if (!cover?.contains(focused) && cover !== null) return focused.outerHTML;
    }
    return null;
  });
}
