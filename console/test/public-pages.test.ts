import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import type { Page } from 'playwright-core';
import { sql } from '../../server/test/task-fixtures.ts';
import { expectNoViolations, open, openSite, settled, siteOf, test } from './site.ts';

const site = await siteOf(openSite);

function isPaused(page: Page): Promise<boolean> {
  return page.evaluate(() => document.querySelector('video')?.paused ?? true);
}

test('the first page plays a video', async () => {
  const page = await site.newPage({ reducedMotion: 'no-preference' });
  const refused: string[] = [];
  page.on('response', (one) => one.status() >= 400 && refused.push(one.url()));
  await open(page, '/', 'Pay for the video');
  await page.waitForFunction(() => (document.querySelector('video')?.currentTime ?? 0) > 0.2);
  await page.getByRole('button', { name: 'Pause the sample' }).click();
  assert.equal(await isPaused(page), true);
  assert.deepEqual(refused, [], 'the browser of a stranger would log them as errors');
  await expectNoViolations(page);
});

test('going to another page moves the focus to its title', async () => {
  const page = await site.newPage();
  await open(page, '/sign-in');
  await page.getByRole('navigation').getByRole('link', { name: 'Prices' }).click();
  await settled(page, 'Prices');
  await page.waitForFunction(() => document.activeElement?.tagName === 'H1');
  assert.match(await page.title(), /^Prices/);
});

test('a page whose file can not be loaded says so', async () => {
  const page = await site.newPage();
  await open(page, '/sign-in');
  await page.route('**/assets/pricing-*.js', (route) => route.abort());
  await page.getByRole('navigation').getByRole('link', { name: 'Prices' }).click();
  await settled(page, 'This page could not be loaded');
  await expectNoViolations(page);
  await page.unroute('**/assets/pricing-*.js');
  await page.getByRole('button', { name: 'Load it again' }).click();
  await settled(page, 'Prices');
});

test('the chosen theme stays, and is there before the first paint', async () => {
  const page = await site.newPage({ colorScheme: 'light' });
  await page.goto('/sign-in');
  await page.getByRole('button', { name: 'Use the dark theme' }).click();
  await page.goto('/no/such/page');
  const theme = () => document.documentElement.dataset.theme;
  assert.equal(await page.evaluate(theme), 'dark');
  await page.getByRole('button', { name: 'Use the light theme' }).click();
  assert.equal(await page.evaluate(theme), undefined, 'it follows the system again');
});

test('without a connection the site says so, until it is back', async () => {
  const page = await site.newPage();
  await open(page, '/sign-in');
  await page.context().setOffline(true);
  await page.getByText('You are offline').waitFor();
  await page.getByLabel('E-mail address').fill('ada@example.com');
  await page.getByRole('button', { name: 'Send the code' }).click();
  await page.getByText('can’t be reached').waitFor();
  await expectNoViolations(page);
  await page.context().setOffline(false);
  await page.getByText('You are offline').waitFor({ state: 'detached' });
});

test('a stranger learns whether a file came from here, and its bytes stay in the browser', async () => {
  const sha256 = hash('sha256', 'a video');
  const insert = `insert into stored_objects (id, owner_id, role, state, media_type, sha256)
    values ('obj_verify', 'task_verify', 'output', 'deleted', 'video/mp4', $1)`;
  await sql(site.database.db, insert, [sha256]);
  const page = await site.newPage();
  await open(page, '/verify', 'Verify a video');
  const sent: string[] = [];
  page.on('request', (one) => one.resourceType() === 'fetch' && sent.push(one.url()));
  const choose = (text: string) =>
    page
      .getByLabel('The file')
      .setInputFiles({ name: 'a.mkv', mimeType: '', buffer: Buffer.from(text) });
  await choose('a video');
  await page.getByRole('status').getByText('This service made the file').waitFor();
  assert.deepEqual(sent, [`${site.url}/console/api/verify?sha256=${sha256}`]);
  await choose('another video');
  await page.getByRole('status').getByText('No video of this service').waitFor();
  await expectNoViolations(page);
  assert.equal(sent.length, 2);
  await page.getByRole('button', { name: 'Send the file' }).click();
  await page.getByText('is not an MP4').waitFor();
  assert.deepEqual(sent.slice(2), [`${site.url}/console/api/verify`]);
  await expectNoViolations(page);
});
