// npx node console/test/screenshots.ts FOLDER [NAME...]: takes a picture of every page in both themes
// and two widths, or of the named pages only.
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { NO_BROWSER } from './browser.ts';
import { openSite, type Site, screenshots, settled, signIn } from './site.ts';

interface Shot {
  /** Of the file. */
  name: string;
  path: string;
  isSignedIn?: boolean;
  /** What is done on the page before the picture. */
  prepare?(page: Page, site: Site): Promise<void>;
}

const EMAIL = 'ada@example.com';

/** Every page, and its states that a test can't judge. Add yours here. */
const SHOTS: Shot[] = [
  { name: 'landing', path: '/' },
  { name: 'pricing', path: '/pricing' },
  { name: 'sign-in', path: '/sign-in' },
  { name: 'not-found', path: '/no/such/page' },
  { name: 'kit', path: '/kit' },
  { name: 'playground', path: '/playground', isSignedIn: true },
  { name: 'videos-empty', path: '/videos', isSignedIn: true },
  { name: 'usage-empty', path: '/usage', isSignedIn: true },
  { name: 'keys-empty', path: '/keys', isSignedIn: true },
  { name: 'credits', path: '/credits', isSignedIn: true },
  { name: 'settings', path: '/settings', isSignedIn: true },
  { name: 'operator', path: '/operator', isSignedIn: true },
];

async function take(site: Site, page: Page, shot: Shot, folder: string): Promise<void> {
  await page.goto(shot.path);
  await settled(page);
  await shot.prepare?.(page, site);
  await screenshots(page, folder, shot.name);
  process.stdout.write(`${shot.name}\n`);
}

async function main([given, ...names]: string[]): Promise<void> {
  if (given === undefined) throw new Error('usage: screenshots.ts FOLDER [NAME...]');
  if (NO_BROWSER) throw new Error(NO_BROWSER);
  const folder = path.resolve(given);
  await mkdir(folder, { recursive: true });
  const wanted = SHOTS.filter(({ name }) => names.length === 0 || names.includes(name));
  const site = await openSite({ ADMIN_EMAILS: EMAIL });
  try {
    const stranger = await site.newPage();
    const customer = await site.newPage();
    if (wanted.some(({ isSignedIn }) => isSignedIn)) await signIn(site, customer, EMAIL);
    for (const shot of wanted) {
      await take(site, shot.isSignedIn ? customer : stranger, shot, folder);
    }
  } finally {
    await site.close();
  }
}

await main(process.argv.slice(2));
