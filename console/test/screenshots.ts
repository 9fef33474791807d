// npx node console/test/screenshots.ts FOLDER [NAME...]: takes a picture of every page in both themes
// and two widths, or of the named pages only; `docs` names all pages of the documentation.
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { findAccount } from '../../server/src/accounts/accounts.ts';
import { temporaryFolder } from '../../server/test/temporary-folder.ts';
import { NO_BROWSER } from './browser.ts';
import { fillCredits } from './filled-credits.ts';
import { fillGallery } from './filled-gallery.ts';
import { failingEndpoint } from './long-texts.ts';
import { openOverview, openRefusing } from './operator-states.ts';
import { PLAYGROUND_STATES } from './playground-states.ts';
import { openSellingSite, orderOf, type SellingSite } from './selling-site.ts';
import { outdateProof, signedInPage } from './signed-in.ts';
import { docsAddresses, screenshots, settled } from './site.ts';

interface Shot {
  /** The name of the file. */
  name: string;
  /** A function gets the tasks of a gallery that is filled first. */
  path: string | ((filled: Filled) => string);
  isStranger?: boolean;
  /** What is done on the page before the picture. */
  prepare?(page: Page, site: SellingSite, gallery: () => Promise<Filled>): Promise<void>;
}

type Filled = Awaited<ReturnType<typeof fillGallery>>;

const EMAIL = 'ada@example.com';

const clicking = (name: string) => (page: Page) => page.getByRole('button', { name }).click();

/** Every page, and its states that a test can't judge. Add yours here. */
const SHOTS: Shot[] = [
  { name: 'menu', path: '/settings', prepare: openMenu },
  { name: 'landing', path: '/', isStranger: true },
  { name: 'pricing', path: '/pricing', isStranger: true },
  { name: 'status', path: '/status', isStranger: true },
  { name: 'sign-in', path: '/sign-in', isStranger: true },
  { name: 'not-found', path: '/no/such/page', isStranger: true },
  { name: 'playground', path: '/playground' },
  { name: 'videos-empty', path: '/videos' },
  { name: 'usage-empty', path: '/usage' },
  { name: 'keys-empty', path: '/keys' },
  { name: 'keys-new', path: '/keys', prepare: clicking('New key') },
  {
    name: 'keys-secret',
    path: '/keys',
    async prepare(page) {
      await createKey(page);
      await page.locator('[data-secret]').waitFor();
    },
  },
  { name: 'keys', path: '/keys' },
  { name: 'webhooks-empty', path: '/webhooks' },
  { name: 'webhooks-new', path: '/webhooks', prepare: clicking('New endpoint') },
  { name: 'webhooks', path: '/webhooks', prepare: openEndpoints },
  {
    name: 'webhook',
    path: '/webhooks',
    async prepare(page, site) {
      await openEndpoints(page, site);
      await page.getByRole('link', { name: 'https://media' }).first().click();
      await page.getByText('2 tries').first().click();
    },
  },
  { name: 'credits-empty', path: '/credits' },
  { name: 'credits', path: '/credits', prepare: fillCredits },
  { name: 'settings', path: '/settings' },
  { name: 'operator-overview', path: '/operator' },
  ...['tasks', 'providers', 'accounts', 'orders', 'orphans', 'audit', 'actions', 'commands'].map(
    (page) => ({ name: `operator-${page}`, path: `/operator/${page}` }),
  ),
  { name: 'operator-held', path: '/operator/tasks/held' },
  {
    name: 'operator-first-minutes',
    path: '/operator',
    prepare: (page) => openOverview(page, 2),
  },
  { name: 'operator-two-hours', path: '/operator', prepare: (page) => openOverview(page, 120) },
  { name: 'operator-account', path: ({ accountId }) => `/operator/accounts/${accountId}` },
  {
    name: 'operator-order',
    path: '/operator',
    async prepare(page, { url }) {
      await page.goto(`/operator/orders/${await orderOf(page, url)}`);
      await settled(page, 'Order');
    },
  },
  { name: 'operator-held-rows', path: () => '/operator/tasks/held' },
  {
    name: 'operator-held-dialog',
    path: () => '/operator/tasks/held',
    prepare: clicking('Decide all of these'),
  },
  { name: 'operator-refusing', path: '/operator', prepare: openRefusing },
  { name: 'sign-in-ended', path: '/sign-in?ended=yes', isStranger: true },
  { name: 'video-missing', path: '/videos/task_unknown' },
  { name: 'videos', path: () => '/videos' },
  { name: 'usage', path: () => '/usage' },
  { name: 'video', path: ({ completed }) => `/videos/${completed}` },
  { name: 'video-failed', path: ({ failed }) => `/videos/${failed}` },
  { name: 'video-live', path: ({ live }) => `/videos/${live}` },
  { name: 'video-held', path: ({ held }) => `/videos/${held}` },
  ...['playground', 'videos', 'usage', 'keys', 'webhooks', 'credits', 'pricing', 'operator'].map(
    (page) => ({ name: `test-${page}`, path: () => `/${page}?mode=test` }),
  ),
  { name: 'test-video', path: ({ tested }) => `/videos/${tested}` },
  { name: 'test-menu', path: '/settings?mode=test', prepare: openMenu },
  { name: 'test-empty', path: '/keys?mode=test', prepare: clicking('New test key') },
  ...Object.entries(PLAYGROUND_STATES).map(
    ([name, prepare]): Shot => ({
      name: `playground-${name}`,
      path: '/playground',
      prepare: (page, _, gallery) => prepare(page, gallery),
    }),
  ),
];

async function openEndpoints(page: Page, site: SellingSite): Promise<void> {
  await failingEndpoint(site, await findAccount(site.database.db, EMAIL));
  await page.reload();
  await page.getByText('Failing').first().waitFor();
}

/** Last, since what comes later would be asked, too. */
const PROOF_SHOTS: Shot[] = [
  { name: 'settings-delete', path: '/settings', prepare: clicking('Delete the account') },
  { name: 'settings-reopened', path: '/settings?reopened=yes' },
  { name: 'proof', path: '/keys', prepare: openProof },
  {
    name: 'proof-code',
    path: '/keys',
    async prepare(page, site) {
      await openProof(page, site);
      await page.getByRole('button', { name: 'Send me a code' }).click();
      await page.getByLabel('Code of eight digits').waitFor();
    },
  },
];

async function createKey(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByLabel('Name').fill('production server');
  await page.getByRole('button', { name: 'Create the key' }).click();
}

/** A new key of somebody who has signed in long ago. */
async function openProof(page: Page, site: SellingSite): Promise<void> {
  await outdateProof(site, await findAccount(site.database.db, EMAIL));
  await createKey(page);
  await page.getByRole('button', { name: 'Send me a code' }).waitFor();
}

async function openMenu(page: Page): Promise<void> {
  await page.locator('summary[aria-label="Account"]').click();
}

async function main([given, ...names]: string[]): Promise<void> {
  if (given === undefined) throw new Error('usage: screenshots.ts FOLDER [NAME...]');
  if (NO_BROWSER) throw new Error(NO_BROWSER);
  const folder = path.resolve(given);
  await mkdir(folder, { recursive: true });
  await using data = await temporaryFolder();
  const site = await openSellingSite({ ADMIN_EMAILS: EMAIL, DATA_DIR: data.path });
  try {
    const stranger = await site.newPage();
    const { page: customer, accountId } = await signedInPage(site, {
      email: EMAIL,
      credits: 12_840,
    });
    const addresses = names.includes('docs') ? await docsAddresses(site, customer) : [];
    const docs = addresses.map((address): Shot => {
      return { name: address.slice(1).replaceAll('/', '-'), path: address };
    });
    const isWanted = ({ name }: Shot) => names.length === 0 || names.includes(name);
    const wanted = [...[...SHOTS, ...PROOF_SHOTS].filter(isWanted), ...docs];
    let filled: Promise<Filled> | undefined;
    // After the pictures of an empty account.
    const gallery = () => (filled ??= fillGallery(site, accountId, data.path));
    for (const { name, path: to, isStranger, prepare } of wanted) {
      const page = isStranger ? stranger : customer;
      await page.goto(typeof to === 'string' ? to : to(await gallery()));
      await settled(page);
      await prepare?.(page, site, gallery);
      await screenshots(page, folder, name);
      await page.unrouteAll();
      await page.context().setOffline(false);
      await page.evaluate(() => sessionStorage.clear());
      process.stdout.write(`${name}\n`);
    }
  } finally {
    await site.close();
  }
}

await main(process.argv.slice(2));
