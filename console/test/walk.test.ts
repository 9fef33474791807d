import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { grant } from '../../server/src/ledger/ledger.ts';
import { sql } from '../../server/test/task-fixtures.ts';
import { fillIn, isPlayable } from './cheapest-video.ts';
import { accountPages, operatorPages } from './pages.ts';
import { openSellingSite } from './selling-site.ts';
import { expectNoViolations, open, settled, signIn, siteOf, test } from './site.ts';

// All pages; most have a file with their details besides, for the long run.
const OPERATOR = 'grace@example.com';
const site = await siteOf(() => openSellingSite({ ADMIN_EMAILS: OPERATOR }));

async function expectPages(page: Page, pages: string[][]) {
  for (const [path = '', title] of pages) {
    await open(page, path, title);
    await expectNoViolations(page);
  }
}

test('who signs in makes a video, and each page loads without a fault', async () => {
  const page = await site.newPage();
  await expectPages(page, [['/'], ['/pricing'], ['/status', 'Status'], ['/sign-in', 'Sign in']]);
  await signIn(site, page, OPERATOR);
  await settled(page, 'Playground');
  const { db } = site.database;
  const select = 'select id from accounts where email = $1';
  const [account] = await sql<{ id: string }>(db, select, [OPERATOR]);
  const accountId = account?.id ?? '';
  await grant(db, { accountId, credits: 100, kind: 'paid', reference: 'walk' });
  await page.reload();
  await fillIn(page, 'It begins to snow');
  await page.getByRole('button', { name: 'Generate' }).click();
  await page.locator('video').waitFor({ timeout: 60_000 });
  assert.ok(await isPlayable(page));
  await expectNoViolations(page);
  const [task] = await sql<{ id: string }>(db, 'select id from tasks');
  const ids = { accountId, tasks: [task?.id ?? ''] };
  await expectPages(page, accountPages(ids));
  await page.getByRole('banner').getByText('40', { exact: true }).waitFor();
  await expectPages(page, [['/docs'], ...operatorPages(ids)]);
  assert.equal(await page.getByRole('banner').getByText('40', { exact: true }).count(), 0);
  assert.equal(new URL(page.url()).pathname, '/operator/commands');
});
