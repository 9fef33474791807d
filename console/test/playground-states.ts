import type { Page } from 'playwright-core';
import { imageBytes, videoBytes } from '../../server/test/media/media-fixture.ts';
import type { fillGallery } from './filled-gallery.ts';
import { settled } from './site.ts';

type Filled = Awaited<ReturnType<typeof fillGallery>>;

/** The states of the playground that a test can't judge, and what brings the open page into them. */
export const PLAYGROUND_STATES: Record<
  string,
  (page: Page, gallery: () => Promise<Filled>) => Promise<void>
> = {
  incomplete: (page) => generate(page),
  text: (page) => fillIn(page),
  frames: fillFrames,
  references: fillReferences,
  uploading: beginUpload,
  'upload-refused': refuseUpload,
  running: async (page, gallery) => follow(page, (await gallery()).live),
  completed: async (page, gallery) => follow(page, (await gallery()).completed),
  failed: async (page, gallery) => follow(page, (await gallery()).failed),
  held: async (page, gallery) => follow(page, (await gallery()).held),
  split: (page) => quote(page, { promotional: 40, paid: 60 }),
  short: (page) => quote(page, { promotional: 40, paid: 12 }),
  refused: refuse,
  offline: loseConnection,
};

const generate = (page: Page) => page.getByRole('button', { name: 'Generate' }).click();

async function fillIn(page: Page): Promise<void> {
  const text = 'A lighthouse at dawn, waves breaking over black rocks, slow aerial shot';
  await page.getByLabel('Prompt').fill(text);
  const price = page.getByRole('region', { name: 'This video costs' });
  await price.getByText(/^You have/).waitFor();
}

async function mode(page: Page, name: string): Promise<void> {
  await page.getByText(name, { exact: true }).click();
  await fillIn(page);
}

/** Chooses a file in one of the form's empty places. */
async function choose(page: Page, place: string, name: string, buffer: Buffer): Promise<void> {
  const mimeType = name.endsWith('png') ? 'image/png' : 'video/mp4';
  const input = page.getByRole('group', { name: `Add: ${place}` }).locator('input[type=file]');
  await input.setInputFiles({ name, mimeType, buffer });
}

async function fillFrames(page: Page): Promise<void> {
  await mode(page, 'Frames');
  await choose(page, 'First frame', 'first.png', await imageBytes('png', 640, 360));
  await page.getByText('640 × 360').waitFor();
}

async function fillReferences(page: Page): Promise<void> {
  await mode(page, 'References');
  for (const [i, width] of [480, 640].entries()) {
    await choose(page, 'Reference image', `${i}.png`, await imageBytes('png', width, 360));
    await page.getByText(`${width} × 360`).waitFor();
  }
  const clip = await videoBytes({ width: 854, height: 480, seconds: 3 });
  await choose(page, 'Reference video', 'clip.mp4', clip);
  await page.getByText('854 × 480').waitFor();
  const address = page.getByLabel('Reference video: its https address');
  await address.fill('https://media.example.com/a-long-folder/walk-through-the-market.mp4');
  await address.press('Enter');
}

async function beginUpload(page: Page): Promise<void> {
  await mode(page, 'Frames');
  await page.route('**/console/api/uploads', () => {}); // it never gets a response
  await choose(page, 'First frame', 'lighthouse-at-dawn.png', await imageBytes('png', 640, 360));
  await page.getByRole('progressbar').waitFor();
}

async function refuseUpload(page: Page): Promise<void> {
  await mode(page, 'Frames');
  await choose(page, 'First frame', 'notes.png', Buffer.from('not a picture'));
  await page.getByRole('alert').waitFor();
}

/** As after a reload of the page that has created the task. */
async function follow(page: Page, taskId: string): Promise<void> {
  await page.evaluate(async (id) => {
    const { account_id: accountId } = await (await fetch('/console/api/me')).json();
    const submission = JSON.stringify([{ key: 'shown', accountId, body: {}, taskId: id }]);
    sessionStorage.setItem('framewright.generation', submission);
  }, taskId);
  await page.reload();
  await settled(page);
  await page.getByRole('heading', { name: 'Your video' }).waitFor();
  await fillIn(page);
}

/** A price of 60 credits for an account with these. */
async function quote(page: Page, available: { promotional: number; paid: number }): Promise<void> {
  const promotional = Math.min(60, available.promotional);
  const is_affordable = available.promotional + available.paid >= 60;
  const shown = { credits: 60, promotional, paid: 60 - promotional, is_affordable, available };
  await page.route('**/console/api/price?mode=*', (route) => route.fulfill({ json: shown }));
  await fillIn(page);
  await page.getByLabel('Length').fill('4');
}

async function refuse(page: Page): Promise<void> {
  const message = 'The service takes no new videos at the moment. Try again in 30 seconds.';
  const error = { code: 'service_busy', message, details: { reason: 'not_taken' } };
  await page.route('**/console/api/generations', (route) => {
    return route.fulfill({ status: 503, json: { error } });
  });
  await fillIn(page);
  await generate(page);
  await page.getByText('Nothing was made').waitFor();
}

async function loseConnection(page: Page): Promise<void> {
  await fillIn(page);
  await page.context().setOffline(true);
  await generate(page);
  await page.getByText('may not have arrived').waitFor();
}
