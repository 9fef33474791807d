// npx node console/test/screenshots.ts FOLDER [PATH...]: takes pictures of pages, by default of all, in
// both themes and two widths; `docs` names all pages of the documentation.
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { PAGE_PATHS } from '../../server/src/site/pages/pages.ts';
import { NO_BROWSER } from './browser.ts';
import { openSellingSite } from './selling-site.ts';
import { signedInPage } from './signed-in.ts';
import { docsAddresses, screenshots, settled } from './site.ts';

const EMAIL = 'ada@example.com';

const [given, ...named] = process.argv.slice(2);
if (given === undefined) throw new Error('usage: screenshots.ts FOLDER [PATH...]');
if (NO_BROWSER) throw new Error(NO_BROWSER);
const folder = path.resolve(given);
await mkdir(folder, { recursive: true });
const site = await openSellingSite({ ADMIN_EMAILS: EMAIL });
try {
  const { page } = await signedInPage(site, { email: EMAIL, credits: 12_840 });
  const docs = named.includes('docs') ? await docsAddresses(site, page) : [];
  const paths = named.length > 0 ? named.filter((name) => name !== 'docs') : PAGE_PATHS;
  for (const address of [...paths, ...docs].filter((one) => !/[:*]/.test(one))) {
    await page.goto(address);
    await settled(page);
    await screenshots(page, folder, address.slice(1).replaceAll('/', '-') || 'landing');
  }
} finally {
  await site.close();
}
