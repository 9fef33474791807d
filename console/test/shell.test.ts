import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { NO_BROWSER } from './browser.ts';
import { expectNoViolations, openSite, type Site, settled } from './site.ts';

describe('the shell', { skip: NO_BROWSER }, () => {
  let site: Site;

  before(async () => {
    site = await openSite();
  });

  after(() => site?.close());

  test('an unknown address says so, with status 404', async () => {
    const page = await site.newPage();
    const response = await page.goto('/no/such/page');
    assert.equal(response?.status(), 404);
    await settled(page, 'There is no such page');
    await expectNoViolations(page);
  });

  test('the components have no fault of accessibility', async () => {
    const page = await site.newPage();
    await page.goto('/kit');
    await settled(page, 'Components');
    await page.locator('.uplot').waitFor();
    await expectNoViolations(page);
  });
});
