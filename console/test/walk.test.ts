import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { grant } from '../../server/src/ledger/ledger.ts';
import { sql } from '../../server/test/task-fixtures.ts';
import { openSellingSite } from './selling-site.ts';
import { expectNoViolations, open, settled, signIn, siteOf, test } from './site.ts';

// All pages; most have a file with their details besides, for the long run.
const OPERATOR = 'grace@example.com';
const site = await siteOf(() => openSellingSite({ ADMIN_EMAILS: OPERATOR }));

/** Makes a video, and waits until it plays. */
async function makeVideo(page: Page): Promise<void> {
  await page.getByLabel('Prompt').fill('It begins to snow');
  await page.getByLabel('Model').selectOption('video-2.0-mini');
  await page.getByText('480p', { exact: true }).click();
  await page.getByLabel('Length').fill('4');
  await page.getByRole('region', { name: 'This video costs' }).getByText('60').first().waitFor();
  await page.getByRole('button', { name: 'Generate' }).click();
  await page.locator('video').waitFor({ timeout: 60_000 });
  await page.waitForFunction(async () => {
    const video = document.querySelector('video');
    if (!video) return false;
    video.muted = true;
    await video.play();
    return video.currentTime > 0;
  });
}

async function expectPages(page: Page, pages: (readonly [path: string, title: string])[]) {
  for (const [path, title] of pages) {
    await open(page, path, title);
    await expectNoViolations(page);
  }
}

test('who signs in makes a video, and each page loads without a fault', async () => {
  const page = await site.newPage();
  await expectPages(page, [
    ['/', ''],
    ['/pricing', ''],
    ['/sign-in', 'Sign in'],
  ]);
  await signIn(site, page, OPERATOR);
  await settled(page, 'Playground');
  const { db } = site.database;
  const [account] = await sql<{ id: string }>(db, 'select id from accounts where email = $1', [
    OPERATOR,
  ]);
  const accountId = account?.id ?? '';
  await grant(db, { accountId, credits: 100, kind: 'paid', reference: 'walk' });
  await page.reload();
  await makeVideo(page);
  await expectNoViolations(page);
  const [task] = await sql<{ id: string }>(db, 'select id from tasks');
  await expectPages(page, [
    ['/videos', 'Videos'],
    [`/videos/${task?.id}`, ''],
    ['/usage', 'Usage'],
    ['/keys', 'API keys'],
    ['/webhooks', 'Webhooks'],
    ['/credits', 'Credits'],
    ['/settings', 'Settings'],
    ['/docs', ''],
    ['/operator', 'Operator'],
    ['/operator/tasks', 'Tasks'],
    [`/operator/tasks/${task?.id}`, ''],
    ['/operator/providers', 'Providers'],
    ['/operator/accounts', 'Accounts'],
    [`/operator/accounts/${accountId}`, 'Account'],
    ['/operator/orders', 'Orders'],
    ['/operator/commands', 'Commands'],
  ]);
  await page.getByRole('banner').getByText('40', { exact: true }).waitFor();
  assert.equal(new URL(page.url()).pathname, '/operator/commands');
});
