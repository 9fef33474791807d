import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { createKey } from '../../server/src/accounts/api-keys.ts';
import { sql } from '../../server/test/task-fixtures.ts';
import { openTestFolder } from '../../server/test/temporary-folder.ts';
import { galleryMaker, shortVideo } from './filled-gallery.ts';
import { signedInPage } from './signed-in.ts';
import { expectNoViolations, open, openSite, settled, siteOf, test } from './site.ts';

const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=1</script>';

const OPERATOR = 'operator@example.com';

let page: Page;
let accountId = '';
let email = '';
let make: ReturnType<typeof galleryMaker>;
const folder = await openTestFolder();
const site = await siteOf(
  () => openSite({ DATA_DIR: folder.path, ADMIN_EMAILS: OPERATOR }),
  async (opened) => {
    ({ page, accountId, email } = await signedInPage(opened, { credits: 10_000 }));
    make = galleryMaker(opened, folder.path);
    const { keyId } = await createKey(opened.database.db, { accountId, name: HOSTILE });
    const prompt = 'A lighthouse at dawn';
    const files = await shortVideo(folder.path, { width: 640, height: 360 });
    await make(accountId, { prompt, ended: 'completed', ...files });
    const ended = 'content_refused';
    await make(accountId, { prompt: HOSTILE, ended, apiKeyId: keyId });
  },
);

const card = (text: string) => page.locator('article', { hasText: text });

test('it shows posters, loads no video, and hostile prompts are text', async () => {
  await open(page, '/videos', 'Videos');
  await card('A lighthouse at dawn').locator('img').waitFor();
  await page.waitForFunction(
    () => (document.querySelector('article img') as HTMLImageElement).naturalWidth > 0,
  );
  assert.equal(await page.locator('video').count(), 0);
  assert.equal(await card(HOSTILE).locator('h2').innerText(), HOSTILE);
  await card(HOSTILE).getByText('It failed: content_refused.').waitFor();
  assert.equal(await page.title(), 'Videos – Framewright');
  await expectNoViolations(page);
});

test('a video is previewed while it is pointed at, and only then', async () => {
  const { page: mover } = await signedInPage(site, { email, reducedMotion: 'no-preference' });
  await mover.goto('/videos');
  await mover.locator('article', { hasText: 'A lighthouse' }).hover();
  await mover.waitForFunction(
    () => (document.querySelector('article video') as HTMLVideoElement)?.currentTime > 0,
  );
  await mover.locator('h1').hover();
  await mover.locator('article video').waitFor({ state: 'detached' });
  await mover.getByRole('link', { name: 'A lighthouse' }).focus();
  await mover.locator('article video').waitFor();
});

test('filters are in the address, and find what they name', async () => {
  await page.goto('/videos');
  await page.getByLabel('Search', { exact: true }).fill('LIGHTHOUSE');
  await page.waitForURL('**/videos?text=LIGHTHOUSE');
  await card(HOSTILE).waitFor({ state: 'detached' });
  await page.getByText('1 video', { exact: true }).waitFor({ state: 'attached' });
  await page.getByLabel('Status', { exact: true }).selectOption('failed');
  await page.getByText('No video matches').waitFor();
  await page.reload();
  await page.getByText('No video matches').waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).last().click();
  await card(HOSTILE).waitFor();
  assert.equal(new URL(page.url()).search, '');
  await page.getByText('More filters').click();
  await page.getByLabel('API key').selectOption(HOSTILE);
  await card('A lighthouse').waitFor({ state: 'detached' });
  await expectNoViolations(page);
});

test('the page of a live task follows it', async () => {
  const id = await make(accountId, { prompt: 'Dunes at noon' });
  const become = (phase: string) =>
    sql(site.database.db, 'update tasks set phase = $2 where id = $1', [id, phase]);
  await page.goto(`/videos/${id}`);
  await page.getByText('Waiting to start').waitFor();
  await become('generating');
  await page.getByRole('status').getByText('Generating').waitFor();
  await expectNoViolations(page);
  await page.context().setOffline(true);
  await page.waitForEvent('requestfailed');
  await page.context().setOffline(false);
  await become('archiving');
  await page.getByRole('status').getByText('Saving the video').waitFor();
});

test('a video is cancelled while it is made, and deleted when it is there', async () => {
  const { db } = site.database;
  const files = await shortVideo(folder.path, { width: 320, height: 180 });
  const live = await make(accountId, { prompt: 'To be cancelled' });
  const done = await make(accountId, { prompt: 'To be deleted', ended: 'completed', ...files });
  await page.goto(`/videos/${live}`);
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await page.getByText('its credits are refunded').waitFor();
  await expectNoViolations(page);
  await page.getByRole('button', { name: 'Cancel the video' }).click();
  await page.getByText('Nothing was charged').waitFor();
  await page.getByText('You cancelled it.').waitFor();
  await page.goto(`/videos/${done}`);
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('button', { name: 'Delete the video' }).click();
  await page.getByText('The video was deleted').waitFor();
  await page.getByText(/You deleted it on/).waitFor();
  await expectNoViolations(page);
  await page.goto('/videos');
  await card('To be deleted').getByText('Deleted', { exact: true }).waitFor();
  assert.equal(await card('To be deleted').getByText('Completed').count(), 0);
  const [task] = await sql(db, 'select error_code from tasks where id = $1', [live]);
  assert.deepEqual(task, { error_code: 'cancelled' });
});

test('videos are named, tagged, starred and downloaded together, by keyboard alone', async () => {
  const files = await shortVideo(folder.path, { width: 320, height: 180 });
  for (const prompt of ['Take one', 'Take two']) {
    await make(accountId, { prompt, ended: 'completed', ...files });
  }
  const { page: phone } = await signedInPage(site, {
    email,
    viewport: { width: 390, height: 760 },
  });
  await open(phone, '/videos', 'Videos');
  const act = (name: string) => phone.getByRole('button', { name, exact: true }).press('Enter');
  const pick = (name: string) =>
    phone.getByRole('checkbox', { name: `Select: ${name}` }).press(' ');
  await pick('Take one');
  await act('Name and tags');
  await phone.getByLabel('Name', { exact: true }).fill('Opening shot');
  await phone.getByLabel('Tags', { exact: true }).fill('reel 1, sea');
  await expectNoViolations(phone);
  await act('Save');
  await phone.getByRole('link', { name: 'Opening shot' }).waitFor();
  await act('Star: Opening shot');
  await pick('Take two');
  await phone.getByText('2 selected').waitFor();
  await expectNoViolations(phone);
  const download = phone.waitForEvent('download');
  await phone.getByRole('link', { name: 'Download' }).press('Enter');
  assert.match((await download).suggestedFilename(), /^videos-[\d-]+\.zip$/);
  const file = await readFile(await (await download).path());
  assert.match(file.toString('latin1'), /take-two-.*opening-shot-/s);
  await act('List');
  await expectNoViolations(phone);
  await act('Starred');
  await phone.getByRole('cell', { name: 'Take two' }).waitFor({ state: 'detached' });
  await phone.getByRole('link', { name: 'reel 1' }).press('Enter');
  await phone.waitForURL('**/videos?tag=reel%201');
  await phone.getByRole('link', { name: 'Opening shot' }).waitFor();
  assert.equal(await phone.getByRole('row').count(), 2);
});

test('usage has its numbers as a chart, as tables and as a file', async () => {
  await open(page, '/usage', 'Usage');
  await page.locator('.uplot').first().waitFor();
  await page.getByRole('cell', { name: 'video-2.0-fast' }).waitFor();
  const link = await page.getByRole('link', { name: 'Download CSV' }).getAttribute('href');
  const file = await page.request.get(link ?? '');
  assert.match(await file.text(), /,video-2\.0-fast,api,/);
  await expectNoViolations(page);
});

test('a video is shared, watched by a stranger without scripts, framed, reported and ended', async () => {
  const files = await shortVideo(folder.path, { width: 320, height: 180 });
  const id = await make(accountId, { prompt: 'A shared one', ended: 'completed', ...files });
  await page.goto(`/videos/${id}`);
  await page.getByRole('button', { name: 'Share', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Show the prompt').check();
  await expectNoViolations(page);
  await dialog.getByRole('button', { name: 'Make the link' }).click();
  const link = (await dialog.getByRole('region', { name: 'Link' }).textContent()) ?? '';
  await expectNoViolations(page);
  const embedded = link.replace('/s/', '/embed/');
  const scriptless = await site.newPage({ javaScriptEnabled: false });
  await scriptless.goto(link);
  await scriptless.getByText('A shared one').waitFor();
  const stranger = await site.newPage();
  for (const address of [embedded, link]) {
    await stranger.goto(address);
    await expectNoViolations(stranger);
  }
  await stranger.locator('video').evaluate((video: HTMLVideoElement) => video.play());
  await stranger.waitForFunction(() => (document.querySelector('video')?.currentTime ?? 0) > 0);
  await stranger.getByRole('link', { name: 'Report this video' }).click();
  await settled(stranger, 'Report a video');
  assert.equal(await stranger.getByLabel('Video', { exact: true }).inputValue(), link);
  const elsewhere = await site.newPage();
  await elsewhere.goto(`${site.service.url}/healthz`); // another origin: its host is an address
  await elsewhere.setContent(`<iframe src="${embedded}"></iframe><iframe src="${link}"></iframe>`);
  await elsewhere.frameLocator('iframe').first().locator('video').waitFor();
  assert.equal(await elsewhere.frameLocator('iframe').last().locator('video').count(), 0);
  for (const one of [stranger, elsewhere]) assert.deepEqual(await one.context().cookies(), []);
  await open(page, '/settings', 'Settings');
  const row = page.getByRole('row').filter({ hasText: 'A shared one' });
  await expectNoViolations(page);
  await row.getByRole('button', { name: /^End/ }).click();
  await row.getByText('Ended', { exact: true }).waitFor();
  await stranger.goto(link);
  await stranger.getByText('This video is not shared').waitFor();
  await expectNoViolations(stranger);
});

test('an account’s data is made into a file, and downloaded', async () => {
  await open(page, '/settings', 'Settings');
  await page.getByRole('button', { name: 'Make the file' }).press('Enter');
  const link = page.getByRole('link', { name: 'Download', exact: true });
  await link.waitFor({ timeout: 30_000 });
  await expectNoViolations(page);
  const download = page.waitForEvent('download');
  await link.press('Enter');
  assert.match((await download).suggestedFilename(), /^account-[\d-]+\.zip$/);
});

/** Reports the video by its file, from the footer of the first page. @returns the receipt */
async function reportFile(stranger: Page, bytes: Buffer): Promise<string> {
  await open(stranger, '/');
  await stranger.getByRole('contentinfo').getByRole('link', { name: 'Report a video' }).click();
  await settled(stranger, 'Report a video');
  const file = { name: 'a.mp4', mimeType: 'video/mp4', buffer: bytes };
  await stranger.getByLabel('Or its file').setInputFiles(file);
  await stranger.waitForFunction(
    (digest) => document.querySelector<HTMLInputElement>('main input')?.value === digest,
    hash('sha256', bytes),
  );
  await stranger.getByLabel('Reason').selectOption('intimate_images');
  await stranger.getByLabel('What we should know').fill('She is my neighbour.');
  await stranger.getByLabel('E-mail address').fill('eve@localhost');
  await expectNoViolations(stranger);
  await stranger.getByRole('button', { name: 'Send the report' }).click();
  const receipt = stranger.getByText(/^report_\w{24}$/);
  await receipt.waitFor();
  await expectNoViolations(stranger);
  return receipt.innerText();
}

test('a stranger reports a video by its file, and an operator takes it down unseen', async () => {
  const bytes = Buffer.from('a reported video');
  const id = await make(accountId, { prompt: 'A reported one', ended: 'completed', video: bytes });
  const digest = 'update stored_objects set sha256 = $2 where owner_id = $1';
  await sql(site.database.db, digest, [id, hash('sha256', bytes)]);
  const receipt = await reportFile(await site.newPage(), bytes);
  const { page: admin } = await signedInPage(site, { email: OPERATOR });
  await open(admin, '/operator/reports', 'Reports');
  await expectNoViolations(admin);
  await admin.getByRole('link', { name: receipt }).click();
  await settled(admin, 'Report');
  await admin.getByText('She is my neighbour.').waitFor();
  const player = admin.getByLabel('The reported video');
  const isInert = () => player.evaluate((one) => one.closest('[inert]') !== null);
  assert.equal(await isInert(), true);
  await expectNoViolations(admin);
  await admin.getByRole('button', { name: 'Show it' }).click();
  assert.equal(await isInert(), false);
  await admin.getByRole('button', { name: 'Take the video down' }).click();
  await admin.getByLabel('Reason').fill('ticket 97');
  await expectNoViolations(admin);
  const dialog = admin.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Take the video down' }).click();
  await admin.getByText('The file is deleted').waitFor();
  await admin.getByRole('row').filter({ hasText: 'ticket 97' }).waitFor();
  await expectNoViolations(admin);
});
