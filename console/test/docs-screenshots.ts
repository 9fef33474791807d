import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { NO_BROWSER } from './browser.ts';
import { signedInPage } from './signed-in.ts';
import { openSite, type Site, settled } from './site.ts';

// Pictures of every page of the documentation: docs-screenshots.ts FOLDER [NAME...]

const EMAIL = 'operator@example.com';
/** 640 px is a window of 1280 px at a zoom of 200 %. */
const SIZES = [
  { name: 'desktop', width: 1280, colorScheme: 'light' },
  { name: 'desktop-dark', width: 1280, colorScheme: 'dark' },
  { name: 'zoomed', width: 640, colorScheme: 'light' },
  { name: 'phone', width: 360, colorScheme: 'light' },
  { name: 'phone-dark', width: 360, colorScheme: 'dark' },
] as const;

/** The addresses of all pages, those for operators included. */
export async function docsAddresses(site: Site, page: Page): Promise<string[]> {
  const sitemap = await (await fetch(`${site.url}/docs/sitemap.xml`)).text();
  await page.goto('/docs/operations/overview');
  const operators = await page
    .locator('.docs-contents a')
    .evaluateAll((links) =>
      links.map((link) => new URL((link as HTMLAnchorElement).href).pathname),
    );
  const customers = [...sitemap.matchAll(/<loc>(.*?)<\/loc>/g)].map(
    ([, url = '']) => new URL(url).pathname,
  );
  return [...customers, ...operators];
}

async function main([given, ...names]: string[]): Promise<void> {
  if (given === undefined) throw new Error('usage: docs-screenshots.ts FOLDER [NAME...]');
  if (NO_BROWSER) throw new Error(NO_BROWSER);
  const folder = path.resolve(given);
  await mkdir(folder, { recursive: true });
  const site = await openSite({ ADMIN_EMAILS: EMAIL });
  try {
    const { page } = await signedInPage(site, { email: EMAIL });
    for (const address of await docsAddresses(site, page)) {
      const name = address.replace('/docs/', '').replaceAll('/', '-');
      if (names.length > 0 && !names.includes(name)) continue;
      await page.goto(address);
      for (const { name: size, width, colorScheme } of SIZES) {
        await page.setViewportSize({ width, height: 800 });
        await page.emulateMedia({ colorScheme });
        await settled(page);
        await page.screenshot({ path: `${folder}/${name}.${size}.png`, fullPage: true });
      }
      process.stdout.write(`${name}\n`);
    }
  } finally {
    await site.close();
  }
}

if (import.meta.main) await main(process.argv.slice(2));
