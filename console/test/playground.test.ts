import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { grant } from '../../server/src/ledger/ledger.ts';
import { audit } from '../../server/src/operator/audit.ts';
import { makeCustomer } from '../../server/test/customer.ts';
import { imageBytes } from '../../server/test/media/media-fixture.ts';
import { sql } from '../../server/test/task-fixtures.ts';
import { until } from '../../server/test/until.ts';
import { CHEAPEST, fillIn, isPlayable } from './cheapest-video.ts';
import { become, signedInPage, signOut } from './signed-in.ts';
import { askForCode, expectNoViolations, open, openSite, settled, siteOf, test } from './site.ts';

const site = await siteOf(async () => {
  const opened = await openSite();
  after(async () => assert.deepEqual(await audit(opened.database.db), { ok: true, problems: [] }));
  return opened;
});

/** The playground of a new account with these credits. */
async function signedIn(credits: number, promotional = 0) {
  const customer = await signedInPage(site, { credits, promotional });
  await open(customer.page, '/playground', 'Playground');
  return customer;
}

const generate = (page: Page) => page.getByRole('button', { name: 'Generate' });

function tasksOf(accountId: string) {
  return sql<{
    id: string;
    credits: number;
    promotional_credits: number;
    request: { seed?: number };
  }>(
    site.database.db,
    'select id, credits, promotional_credits, request from tasks where account_id = $1',
    [accountId],
  );
}

test('a picture is uploaded, a video is made from it, and it plays, also after a reload', async () => {
  const { page, accountId } = await signedIn(100, 40);
  await paste(page, ['notes.png']); // it switches to the mode for frames
  await page.getByRole('alert').getByText('not a still JPEG').waitFor();
  const file = page.locator('input[type=file]').first();
  const picture = (name: string, buffer: Buffer) =>
    file.setInputFiles({ name, mimeType: 'image/png', buffer });
  await picture('first.png', await imageBytes('png', 96, 54));
  await page.getByText('96 × 54').waitFor();
  const curl = page.getByRole('region', { name: 'Create this video, curl' });
  assert.match(await curl.innerText(), /"prompt": "Describe your video here"/);
  await fillIn(page, 'It begins to move');
  assert.match(await curl.innerText(), /"prompt": "It begins to move"/);
  const price = page.getByRole('region', { name: 'This video costs' });
  await price.getByText('promotional').waitFor();
  assert.match(await price.innerText(), /40 promotional, 20 paid\s+You have 140, 80 will be left/);
  assert.match(await curl.innerText(), new RegExp(`"image_url": "${site.url}/uploads/\\w+"`));
  await expectNoViolations(page);
  await generate(page).dblclick();
  await page.getByRole('heading', { name: 'Your video' }).waitFor();
  await page.reload();
  await page.getByText('96 × 54').waitFor();
  assert.equal(await page.getByLabel('Prompt').inputValue(), 'It begins to move');
  await page.locator('video').waitFor({ timeout: 60_000 });
  assert.ok(await isPlayable(page));
  await page.getByRole('status').getByText('Completed').waitFor({ state: 'attached' });
  await expectNoViolations(page);
  const [task, ...others] = await tasksOf(accountId);
  assert.equal(others.length, 0, 'a double click makes one video');
  assert.deepEqual([task?.credits, task?.promotional_credits], [CHEAPEST, 40]);
  await page.locator('header').getByText('80', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Continue from its last frame' }).click();
  await page.getByText(`${task?.id}-last-frame.png`).waitFor();
  await page.getByRole('button', { name: 'Your uploads and videos' }).press('Enter');
  const picker = page.getByRole('dialog', { name: 'Last frame' });
  await picker.getByRole('button', { name: /It begins/ }).waitFor();
  await expectNoViolations(page);
  await picker.getByRole('button', { name: /It begins/ }).press('Enter');
  await page.getByText(`${task?.id}-last-frame.png`).nth(1).waitFor();
  await page.getByRole('button', { name: 'Use as a reference' }).click();
  await page.getByLabel('Seconds, as measured').waitFor();
  await page.getByRole('button', { name: 'Use its request' }).click();
  await page.getByText('96 × 54').waitFor();
  await page.goto(`/playground?from=${task?.id}`);
  await page.getByText('96 × 54').waitFor();
  assert.equal(await page.getByLabel('Prompt').inputValue(), 'It begins to move');
  await page.getByRole('button', { name: 'Delete the file: First frame' }).click();
  await page.getByRole('button', { name: 'Delete the file', exact: true }).click();
  await page.getByText('The file is deleted.').waitFor();
  await page.getByText('96 × 54').waitFor({ state: 'detached' });
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('button', { name: 'Copy as a link' }).click();
  await page.goto(await page.evaluate(() => navigator.clipboard.readText()));
  await page.getByText('A link has filled in this form.').waitFor();
  assert.equal(await page.getByLabel('Prompt').inputValue(), 'It begins to move');
  assert.equal(await page.getByText('Left out').count(), 0);
});

test('a request whose response was lost is sent again with its key, and paid once', async () => {
  const { page, accountId } = await signedIn(1000);
  await fillIn(page, 'A lighthouse at dawn');
  const broken = await breakCreates(page, { arrive: true });
  await generate(page).click();
  await page.getByText(LOST).waitFor();
  await broken.mend();
  await page.context().setOffline(true);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByText(LOST).waitFor();
  await page.getByLabel('Length').fill('5');
  const price = page.getByRole('region', { name: 'This video costs' });
  await price.getByText('reached').waitFor();
  await page.context().setOffline(false);
  await price.getByText('75').first().waitFor();
  await expectNoViolations(page);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByRole('heading', { name: 'Your video' }).waitFor();
  assert.equal((await tasksOf(accountId)).length, 1);
  await become(site, page, (await makeCustomer(site.database.db, 0)).accountId);
  await page.reload();
  assert.equal(await page.getByLabel('Prompt').inputValue(), '', 'the request of another account');
});

/** Pastes files into the page, by default one with a wrong content. */
function paste(page: Page, names: string[], content = 'no picture'): Promise<void> {
  return page.evaluate(
    ([base64, ...fileNames]) => {
      const clipboardData = new DataTransfer();
      const bytes = Uint8Array.from(atob(base64 ?? ''), (one) => one.charCodeAt(0));
      for (const name of fileNames) {
        clipboardData.items.add(new File([bytes], name, { type: 'image/png' }));
      }
      document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }));
    },
    [Buffer.from(content, 'latin1').toString('base64'), ...names],
  );
}

test('several files are taken together, and a preset and the own uploads fill the form again', async () => {
  const { page } = await signedIn(1000);
  const picture = (await imageBytes('png', 96, 54)).toString('latin1');
  await fillIn(page, 'From one to the other');
  await paste(page, ['one.png', 'two.png', 'three.png'], picture);
  await page.getByText('There is no room for a file.').waitFor();
  const taken = page.getByText('96 × 54', { exact: false });
  await taken.nth(1).waitFor();
  const presets = page.getByRole('button', { name: 'Presets' });
  await presets.press('Enter');
  await page.getByLabel('Save the form as').fill('Morph / 2');
  await page.getByLabel('Save the form as').press('Enter');
  await page.getByText('The preset is saved.').waitFor();
  await page.getByRole('button', { name: 'Remove: First frame' }).click();
  await page.getByText('References', { exact: true }).click();
  await paste(page, ['one.png', 'two.png', 'three.png'], picture);
  await taken.nth(2).waitFor();
  await page.getByRole('button', { name: 'Your uploads and videos' }).first().press('Enter');
  const picker = page.getByRole('dialog', { name: 'Reference image' });
  await picker.getByRole('button', { name: '96 × 54' }).nth(4).press('Enter');
  await taken.nth(3).waitFor();
  await presets.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Presets' });
  await dialog.getByRole('button', { name: 'Use Morph / 2' }).waitFor();
  await expectNoViolations(page);
  await dialog.getByRole('button', { name: 'Use Morph / 2' }).press('Enter');
  await page.getByRole('button', { name: 'Remove: Last frame (optional)' }).waitFor();
  assert.equal(await taken.count(), 2);
  await presets.press('Enter');
  await dialog.getByRole('button', { name: 'Delete Morph / 2' }).press('Enter');
  await dialog.getByText('Morph / 2').waitFor({ state: 'detached' });
});

test('variations are priced together, and each is sent once with its own key, or none is', async () => {
  const { page, accountId } = await signedIn(3 * CHEAPEST);
  await fillIn(page, 'A lighthouse at dawn');
  await page.getByLabel('Seed').fill('4294967295');
  const count = page.getByLabel('How many videos');
  await count.selectOption('4');
  const price = page.getByRole('region', { name: 'These 4 videos cost' });
  await price.getByText(/need 60 more/).waitFor();
  assert.equal(await generate(page).count(), 0);
  await count.selectOption('3');
  await generate(page).waitFor();
  await page.evaluate(async (body) => {
    const headers = { 'content-type': 'application/json', 'idempotency-key': 'another-window' };
    await fetch('/console/api/generations', { method: 'POST', headers, body });
  }, JSON.stringify(ANOTHER));
  await page.getByLabel('Prompt').press('Control+Enter');
  await page.getByText('Nothing was sent').waitFor();
  assert.equal((await tasksOf(accountId)).length, 1);
  const paid = { accountId, kind: 'paid', credits: CHEAPEST, reference: accountId } as const;
  await grant(site.database.db, paid);
  await page.reload();
  await count.selectOption('3');
  await generate(page).click();
  await page.getByRole('tab', { name: 'A lighthouse at dawn' }).nth(2).waitFor();
  await page.waitForFunction(() => / videos in progress/.test(document.title));
  const made = await tasksOf(accountId);
  assert.deepEqual(made.map(({ request }) => request.seed).sort(), [0, 1, 4294967295, undefined]);
  await compareInNewTab(await page.context().newPage());
});

const ANOTHER = {
  prompt: 'Sent by another window',
  model: 'video-2.0-mini',
  resolution: '480p',
  duration: 4,
};

/** Earlier videos are there in a new tab, the keys switch, and two are compared. */
async function compareInNewTab(page: Page): Promise<void> {
  await page.setViewportSize({ width: 390, height: 760 });
  await open(page, '/playground', 'Playground');
  const takes = page.getByRole('tab', { name: /lighthouse|another window/ });
  await takes.nth(3).waitFor();
  await takes.first().press('ArrowRight');
  assert.equal(await takes.nth(1).getAttribute('aria-selected'), 'true');
  await page.getByRole('button', { name: 'Compare' }).click();
  await takes.last().click();
  const differences = page.getByRole('table', { name: 'How the requests differ' });
  await differences.getByText('Sent by another window').waitFor();
  await expectNoViolations(page);
  const box = await page.getByRole('region', { name: 'This video costs' }).boundingBox();
  assert.ok(box && box.y + box.height < 760, 'it sticks to the lower edge of a phone');
  await page.locator('h1').press('?');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  await expectNoViolations(page);
}

for (const [width, height] of [
  [1280, 800],
  [390, 844],
] as const) {
  test(`of ten videos one is continued and shared, and three are downloaded, ${width} px wide`, async () => {
    const viewport = { width, height };
    const { page } = await signedInPage(site, { credits: 11 * CHEAPEST, viewport });
    await open(page, '/playground', 'Playground');
    await fillIn(page, 'A lighthouse at dawn');
    const made = page.getByRole('tab', { name: /Completed/ });
    for (const [count, total] of [
      [4, 4],
      [4, 8],
      [2, 10],
    ] as const) {
      await generateTogether(page, count);
      await made.nth(total - 1).waitFor({ timeout: 90_000 });
    }
    await made.nth(5).click();
    await page.getByRole('button', { name: 'Continue from its last frame' }).click();
    await expectInSight(page.getByText(/last-frame\.png/));
    await generateTogether(page, 1);
    await made.nth(10).waitFor({ timeout: 60_000 });
    await expectInSight(page.locator('video'));
    await page.getByRole('button', { name: 'Share', exact: true }).click();
    await page.getByRole('button', { name: 'Make the link' }).click();
    const link = await page.getByRole('region', { name: 'Link' }).textContent();
    await page.keyboard.press('Escape');
    const stranger = await site.newPage({ viewport });
    await stranger.goto(link ?? '');
    assert.ok(await isPlayable(stranger));
    await page.getByRole('link', { name: 'All videos' }).click();
    await settled(page, 'Videos');
    for (const i of [0, 4, 9]) await page.getByRole('checkbox').nth(i).check();
    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download', exact: true }).click();
    const archive = await readFile(await (await download).path());
    assert.equal(archive.toString('latin1').split('PK\x01\x02').length - 1, 3);
  });
}

async function generateTogether(page: Page, count: number): Promise<void> {
  await page.getByLabel('How many videos').selectOption(String(count));
  await page.getByText(count === 1 ? 'This video costs' : `These ${count} videos cost`).waitFor();
  await expectInSight(generate(page));
  await generate(page).click();
}

/** Without scrolling. */
async function expectInSight(one: Locator): Promise<void> {
  await one.waitFor();
  const isInSight = () =>
    one.evaluate((element) => {
      const { top, bottom, left, right } = element.getBoundingClientRect();
      const middle = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
      return middle !== null && (element.contains(middle) || middle.contains(element));
    });
  await until(isInSight, Boolean);
}

const CREATES = '**/console/api/generations';

/** Breaks the connection of creates, before they arrive or before their responses, and counts them. */
async function breakCreates(page: Page, { arrive } = { arrive: false }) {
  const broken = { sent: 0, mend: () => page.unroute(CREATES) };
  await page.route(CREATES, async (route) => {
    broken.sent += 1;
    if (arrive) await route.fetch();
    await route.abort();
  });
  return broken;
}

const LOST = 'This request may not have arrived';

test('what got no response is not sent by leaving the page and coming back, or by a reload', async () => {
  const { page, accountId } = await signedIn(1000);
  await fillIn(page, 'A lighthouse at dawn');
  const broken = await breakCreates(page);
  await generate(page).click();
  await page.getByText(LOST).waitFor();
  await page.getByRole('link', { name: 'Videos', exact: true }).first().click();
  await settled(page, 'Videos');
  await page.getByRole('link', { name: 'Playground', exact: true }).first().click();
  await page.getByText(LOST).waitFor();
  await page.reload();
  await page.getByText(LOST).waitFor();
  await settled(page, 'Playground');
  await expectNoViolations(page);
  assert.equal(broken.sent, 1);
  await broken.mend();
  await page.reload();
  await page.getByText(LOST).waitFor();
  await settled(page, 'Playground');
  assert.deepEqual(await tasksOf(accountId), []);
  const sent = page.waitForRequest(CREATES);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  assert.match((await sent).postData() ?? '', /A lighthouse at dawn/);
  await page.getByRole('heading', { name: 'Your video' }).waitFor();
  assert.equal((await tasksOf(accountId)).length, 1);
});

test('a request that was under way at a reload is sent again, once, and the page says so', async () => {
  const { page, accountId } = await signedIn(1000);
  await fillIn(page, 'A lighthouse at dawn');
  const keys: (string | undefined)[] = [];
  await page.route(CREATES, (route) => {
    keys.push(route.request().headers()['idempotency-key']);
    return keys.length === 1 ? undefined : route.continue(); // the first one hangs
  });
  await generate(page).click();
  await until(async () => keys.length, Boolean);
  await page.getByRole('link', { name: 'Videos', exact: true }).first().click();
  await settled(page, 'Videos');
  await page.goBack();
  await settled(page, 'Playground');
  assert.equal(keys.length, 1, 'leaving the page and coming back');
  await page.reload();
  await page.getByText('sent the same request again').waitFor();
  await page.getByRole('heading', { name: 'Your video' }).waitFor();
  await expectNoViolations(page);
  assert.equal(new Set(keys).size, 1);
  assert.equal((await tasksOf(accountId)).length, 1);
  await page.reload();
  await page.getByRole('heading', { name: 'Your video' }).waitFor();
  assert.equal(keys.length, 2);
});

test('a video that can’t be read after a reload is kept, and shown once it can', async () => {
  const { page, accountId } = await signedIn(1000);
  await fillIn(page, 'A lighthouse at dawn');
  await generate(page).click();
  const result = page.getByRole('heading', { name: 'Your video' });
  await result.waitFor();
  const [task] = await tasksOf(accountId);
  const address = `**/console/api/tasks/${task?.id}`;
  let reads = 0;
  await page.route(address, (route) => {
    reads += 1;
    return route.abort();
  });
  await page.reload();
  await until(
    async () => reads,
    (count) => count > 2,
  );
  assert.equal(await result.count(), 0);
  await page.unroute(address);
  await result.waitFor();
});

test('a discarded request is never sent, and one that had arrived is shown', async () => {
  const { page, accountId } = await signedIn(1000);
  await fillIn(page, 'A lighthouse at dawn');
  const broken = await breakCreates(page);
  await generate(page).click();
  const panel = page.getByRole('alert').filter({ hasText: LOST });
  await panel.getByText('If it did arrive, its video is under Videos').waitFor();
  await page.getByRole('button', { name: 'Discard' }).click();
  await panel.waitFor({ state: 'detached' });
  await page.getByText('If the request arrives after all, its video is under Videos').waitFor();
  await page.reload();
  await settled(page, 'Playground');
  assert.equal(await panel.count(), 0);
  assert.equal(broken.sent, 1);
  await broken.mend();
  await breakCreates(page, { arrive: true });
  await generate(page).click();
  await panel.waitFor();
  await page.getByRole('button', { name: 'Discard' }).click();
  await page.getByText('The request had arrived').waitFor();
  await page.getByRole('heading', { name: 'Your video' }).waitFor();
  assert.equal((await tasksOf(accountId)).length, 1);
});

test('test mode is one window’s, and makes, cancels and deletes for nothing', async () => {
  const { page, accountId } = await signedIn(1000);
  const live = await page.context().newPage();
  await open(live, '/playground', 'Playground');
  await page.getByRole('switch', { name: 'Test mode' }).check();
  await page.getByText('nothing here costs credits').waitFor();
  await page.getByRole('link', { name: /100.000.*test credits available/ }).waitFor();
  await fillIn(page, 'A harbour');
  await page.getByLabel('Outcome').selectOption('busy'); // it waits for ten minutes
  assert.equal(await page.getByLabel('Prompt').inputValue(), 'A harbour test-busy');
  await generate(page).click();
  await page.getByText('60 test credits reserved').waitFor();
  await expectNoViolations(page);
  await page.reload();
  const result = page.getByRole('article', { name: 'Your video' });
  const takes = page.getByRole('tab', { name: 'A harbour' });
  await result.getByText('test', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Details of this video' }).click();
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await page.getByRole('button', { name: 'Cancel the video' }).click();
  await page.getByText('60 test credits were refunded').waitFor();
  await expectNoViolations(page);
  await page.goBack();
  await settled(page, 'Playground');
  await page.getByLabel('Outcome').selectOption('completed');
  await generate(page).click();
  await takes.nth(1).waitFor();
  await result.getByText('Completed', { exact: true }).first().waitFor({ timeout: 30_000 });
  await page.getByRole('link', { name: 'Details of this video' }).click();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('button', { name: 'Delete the video' }).click();
  await page.getByText('The video was deleted').waitFor();
  await page.goBack();
  await page.getByText('The video was deleted').waitFor();
  await page.goto('/videos');
  await page.locator('article').nth(1).getByText('test', { exact: true }).waitFor();
  await expectNoViolations(page);
  await live.goto('/videos');
  await live.getByText('No videos yet').waitFor();
  const surfaces = 'select surface, credits from tasks where account_id = $1';
  const made = { surface: 'test', credits: CHEAPEST };
  assert.deepEqual(await sql(site.database.db, surfaces, [accountId]), [made, made]);
});

test('what was entered is there again after a reload, and after a session that ended', async () => {
  const { page, accountId, email } = await signedIn(1000);
  await page.getByText('References', { exact: true }).click();
  const address = page.getByLabel('Reference image: its https address');
  await address.fill('https://media.example.com/harbour.png');
  await address.press('Enter');
  await fillIn(page, 'A harbour in the fog');
  await page.getByLabel('Seed').fill('42');
  await page.reload();
  await expectEntered(page);
  await sql(site.database.db, 'delete from sessions where account_id = $1', [accountId]);
  // The page may notice it before the click, by the price that it asks for.
  await Promise.all([
    generate(page)
      .click({ timeout: 2000 })
      .catch(() => undefined),
    settled(page, 'Sign in'),
  ]);
  await page.getByText('Your session has ended.').waitFor();
  await expectNoViolations(page);
  const code = await askForCode(site, page, email);
  await page.reload(); // as a phone does while its reader looks for the code
  await page.getByLabel('Code of eight digits').fill(code);
  await settled(page, 'Playground');
  await expectEntered(page);
  assert.equal((await tasksOf(accountId)).length, 0);
});

async function expectEntered(page: Page): Promise<void> {
  await settled(page, 'Playground');
  assert.equal(await page.getByLabel('Prompt').inputValue(), 'A harbour in the fog');
  assert.equal(await page.getByLabel('Seed').inputValue(), '42');
  assert.equal(await page.getByLabel('Length').inputValue(), '4');
  await page.getByText('https://media.example.com/harbour.png', { exact: true }).waitFor();
}

test('nothing of a person stays in any window after a sign-out', async () => {
  const { page } = await signedIn(1000);
  const prompt = 'A secret harbour';
  const other = await page.context().newPage();
  await open(other, '/playground', 'Playground');
  for (const window of [page, other]) {
    await fillIn(window, prompt);
    await window.getByRole('button', { name: /^Generate/ }).click();
    await window.waitForFunction((text) => JSON.stringify(sessionStorage).includes(text), prompt);
  }
  const sleeping = await page.evaluate(() => JSON.stringify(sessionStorage));
  await signOut(page);
  for (const window of [page, other]) {
    await settled(window, 'Pay for the video');
    const kept = await window.evaluate(() => [
      JSON.stringify(sessionStorage),
      document.body.innerText,
    ]);
    assert.doesNotMatch(kept.join(), /harbour|acc_/);
  }
  // A window that the browser had put to sleep learns of it when it is opened again.
  await page.evaluate((text) => {
    for (const [name, value] of Object.entries(JSON.parse(text))) {
      sessionStorage.setItem(name, String(value));
    }
  }, sleeping);
  await become(site, page, (await makeCustomer(site.database.db, 10)).accountId);
  await open(page, '/playground', 'Playground');
  assert.doesNotMatch(await page.evaluate(() => JSON.stringify(sessionStorage)), /harbour/);
});
