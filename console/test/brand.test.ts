import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { pngOf } from '../../server/test/media/image-parts.ts';
import { openTestFolder } from '../../server/test/temporary-folder.ts';
import { until } from '../../server/test/until.ts';
import { galleryMaker, shortVideo } from './filled-gallery.ts';
import { overflowsOf } from './long-texts.ts';
import { signedInPage } from './signed-in.ts';
import { expectNoViolations, open, openSite, siteOf, test } from './site.ts';

const OPERATOR = 'operator@example.com';
const NAME = 'Lichtspielhaus Ehrenfeld <Film> & Söhne, Produktion, Köln';
const COLOR = '#c2185b';

const folder = await openTestFolder();
const site = await siteOf(() =>
  openSite({
    ROLES: 'api',
    DATA_DIR: folder.path,
    ADMIN_EMAILS: OPERATOR,
    SUPPORT_EMAIL: 'help@example.com',
  }),
);

/** A square in the colour of the brand. */
function logo(): Buffer {
  const row = Buffer.from([0, ...Array.from({ length: 64 }, () => [0xc2, 0x18, 0x5b]).flat()]);
  const rows = Buffer.concat(Array.from({ length: 64 }, () => row));
  return pngOf({ width: 64, height: 64, depth: 8, colourType: 2, rows });
}

async function setBrand(page: Page): Promise<void> {
  await open(page, '/operator/brand', 'Brand');
  await page.getByText('the variable SUPPORT_EMAIL, fixed').waitFor();
  await expectNoViolations(page);
  await page.getByRole('button', { name: 'Change the brand' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill(NAME);
  await dialog.getByLabel('Color').fill('#ffff00');
  const files = { name: 'logo.png', mimeType: 'image/png', buffer: logo() };
  await dialog.getByLabel('Logo').setInputFiles(files);
  await dialog.getByLabel('Imprint URL').fill('https://example.com/imprint');
  await dialog.getByLabel('Reason').fill('our house');
  assert.equal(await dialog.getByLabel('Support email').count(), 0, 'a variable has set it');
  await dialog.getByRole('button', { name: 'Change the brand' }).click();
  await dialog.getByText(/#ffff00 has 1\.\d:1 in the light one, #\w{6} would do/).waitFor();
  await expectNoViolations(page);
  await dialog.getByLabel('Color').fill(COLOR);
  await dialog.getByRole('button', { name: 'Change the brand' }).click();
  await page.getByText('Done, and recorded.').waitFor();
  await page.getByRole('row').filter({ hasText: NAME }).waitFor();
}

test('an operator’s brand is on all pages within seconds, and a stranger to them sees it at once', async () => {
  await setBrand((await signedInPage(site, { email: OPERATOR })).page);
  const page = await site.newPage();
  const isBranded = () => page.goto('/').then(async () => (await page.title()) === NAME);
  await until(isBranded, Boolean, 10);
  for (const path of ['/', '/docs/quickstart']) {
    await open(page, path);
    assert.match(await page.title(), /Lichtspielhaus Ehrenfeld <Film> & Söhne/);
    await page.getByRole('banner').getByText(NAME).waitFor();
    const shown = await page.evaluate(() => ({
      accent: getComputedStyle(document.documentElement).getPropertyValue('--color-tungsten'),
      icon: document.querySelector<HTMLLinkElement>('link[rel=icon]')?.href,
      logo: document.querySelector<HTMLImageElement>('header img')?.naturalWidth,
    }));
    assert.deepEqual([shown.accent, shown.logo], [COLOR, 64]);
    assert.match(shown.icon ?? '', /\/brand\/logo\?v=/);
    assert.equal(await page.getByRole('link', { name: 'Imprint' }).count(), 1);
    await expectNoViolations(page);
    assert.deepEqual(await overflowsOf(page, path), []);
  }
});

/** A video of the operator, shared with its prompt. @returns its share */
async function shareVideo(page: Page, accountId: string, prompt: string) {
  const files = await shortVideo(folder.path, { width: 640, height: 360 });
  const make = galleryMaker(site, folder.path);
  const task = await make(accountId, { prompt, ended: 'completed', ...files });
  const wanted = { headers: { origin: site.url }, data: { shows_prompt: true, days: null } };
  const made = await page.request.put(`/console/api/tasks/${task}/share`, wanted);
  return (await made.json()) as { id: string; url: string };
}

test('the operator’s video and words are on the first page, and its prompt is an example', async () => {
  const { page, accountId } = await signedInPage(site, { email: OPERATOR, credits: 1000 });
  const { id, url } = await shareVideo(page, accountId, 'A kite over dunes');
  await open(page, '/operator/brand', 'Brand');
  await page.getByRole('button', { name: 'Change the brand' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Hero text').fill('Films without a camera, from Cologne');
  await dialog.getByLabel('Videos').fill(url);
  await dialog.getByLabel('Reason').fill('our house');
  await dialog.getByRole('button', { name: 'Change the brand' }).click();
  await page.getByText('Done, and recorded.').waitFor();
  const visitor = await site.newPage({ viewport: { width: 375, height: 760 } });
  const video = visitor.locator('figure video');
  const source = () => visitor.goto('/').then(() => video.getAttribute('src'));
  const { pathname } = new URL(url);
  await until(source, (src) => src === `${pathname}/video.mp4`, 10);
  await visitor.getByRole('heading', { name: 'Films without a camera' }).waitFor();
  assert.equal(await visitor.getByText('test pattern').count(), 0);
  await visitor.waitForFunction(() => (document.querySelector('video')?.readyState ?? 0) > 0);
  await expectNoViolations(visitor);
  assert.deepEqual(await overflowsOf(visitor, '/'), []);
  const { page: customer } = await signedInPage(site);
  await open(customer, '/playground', 'Playground');
  await customer.getByRole('link', { name: 'Use this prompt' }).click();
  await customer.getByText('A link has filled in this form.').waitFor();
  assert.equal(await customer.getByLabel('Prompt').inputValue(), 'A kite over dunes');
  await expectNoViolations(customer);
  await page.request.delete(`/console/api/shares/${id}`, { headers: { origin: site.url } });
  const later = await site.newPage();
  await open(later, '/');
  await later.getByText('test pattern of the local renderer').waitFor();
});

test('where nothing is sold, a customer without credits finds the support address', async () => {
  const { page } = await signedInPage(site, { viewport: { width: 375, height: 760 } });
  await open(page, '/playground', 'Playground');
  await page.getByLabel('Prompt').fill('A lighthouse at dawn');
  await page.getByRole('link', { name: 'help@example.com' }).waitFor();
  await expectNoViolations(page);
  await open(page, '/credits', 'Credits');
  const links = page.getByRole('main').getByRole('link', { name: 'help@example.com' });
  assert.equal(await links.getAttribute('href'), 'mailto:help@example.com');
  for (const name of ['Prices', 'Docs']) {
    await page.getByRole('contentinfo').getByRole('link', { name }).waitFor();
  }
  await expectNoViolations(page);
  assert.deepEqual(await overflowsOf(page, '/credits'), []);
});
