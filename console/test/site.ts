import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { after, test as nodeTest, type TestFn } from 'node:test';
import type { AxeResults } from 'axe-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { createTestDatabase, type TestDatabase } from '../../server/test/database.ts';
import { LONG } from '../../server/test/long.ts';
import {
  type ServiceProcess,
  startServiceProcess,
} from '../../server/test/service/service-process.ts';
import { temporaryFolder } from '../../server/test/temporary-folder.ts';
import { until } from '../../server/test/until.ts';
import { launchBrowser, NO_BROWSER } from './browser.ts';

/** A service of its own with a database of its own, and a browser. */
export interface Site {
  /** `http://localhost:PORT`: passkeys need a host with a name. */
  url: string;
  service: ServiceProcess;
  database: TestDatabase;
  browser: Browser;
  /**
   * A page in a browser profile of its own, so that nobody is signed in. It has not opened anything.
   * `page.goto('/keys')` is on the site.
   */
  newPage(options?: BrowserContextOptions): Promise<Page>;
  /**
   * Ends everything.
   * @throws Error if a page broke its content policy or threw an error
   */
  close(): Promise<void>;
}

/**
 * Starts the real service and a browser. If either can't start, the other is ended.
 * @param env more variables of the service
 */
export async function openSite(env: Record<string, string> = {}): Promise<Site> {
  await using opening = new AsyncDisposableStack();
  const database = opening.adopt(await createTestDatabase(), (each) => each.close());
  const folder = opening.use(await temporaryFolder());
  const starting = startServiceProcess(({ PORT }) => ({
    DATABASE_URL: database.url,
    DATA_DIR: folder.path,
    PUBLIC_URL: `http://localhost:${PORT}`, // it listens on an address: a name may not resolve
    ...env,
  }));
  opening.defer(async () => {
    const started = await starting.catch(() => undefined);
    await started?.kill('SIGTERM');
  });
  const browser = opening.adopt(await launchBrowser(), (each) => each.close());
  const service = await starting;
  const opened = opening.move();
  const url = service.url.replace('127.0.0.1', 'localhost');
  const faults: string[] = [];
  return {
    url,
    service,
    database,
    browser,
    async newPage(options = {}) {
      const context = await browser.newContext({
        baseURL: url,
        viewport: { width: 1280, height: 800 },
        reducedMotion: 'reduce',
        locale: 'en-US',
        timezoneId: 'UTC',
        ...options,
      });
      context.setDefaultTimeout(15_000);
      const page = await context.newPage();
      await collectFaults(page, faults);
      return page;
    },
    async close() {
      await opened.disposeAsync();
      assert.deepEqual(faults, [], 'the pages broke their content policy or threw an error');
    },
  };
}

/** A test in a browser: skipped where there is none. */
export function test(title: string, run: TestFn): void {
  void nodeTest(title, { skip: NO_BROWSER }, run);
}

/** Opens and prepares the site of all tests in a file, and closes it after them. */
export async function siteOf<Opened extends Site>(
  open: () => Promise<Opened>,
  prepare: (site: Opened) => Promise<void> = async () => {},
): Promise<Opened> {
  if (NO_BROWSER) return {} as Opened; // all of its tests are skipped
  const site = await open();
  after(() => site.close());
  await prepare(site);
  return site;
}

/** Notes what a test must not overlook: breaches of the content policy, and uncaught errors. */
async function collectFaults(page: Page, faults: string[]): Promise<void> {
  page.on('pageerror', (error) => faults.push(`${page.url()}: ${error.stack ?? error.message}`));
  await page.exposeFunction('noteBreach', (text: string) => faults.push(text));
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      const { violatedDirective, blockedURI, sourceFile } = event;
      const text = `content policy: ${violatedDirective} ${blockedURI} in ${sourceFile}`;
      (window as unknown as { noteBreach(text: string): void }).noteBreach(text);
    });
  });
}

/** Asks for a code on the page of the sign-in. @returns it, from the service's log */
export async function askForCode(site: Site, page: Page, email: string): Promise<string> {
  const before = site.service.output().length;
  await page.getByLabel('E-mail address').fill(email);
  await page.getByRole('button', { name: 'Send the code' }).click();
  await settled(page, 'Enter your code');
  return codeFromLog(site, before);
}

/** Signs in on the page of the sign-in. */
export async function signIn(site: Site, page: Page, email: string): Promise<void> {
  const code = await askForCode(site, page, email);
  await page.getByLabel('Code of eight digits').fill(code);
}

/** The newest code of eight digits that the service has logged after this many characters. */
export async function codeFromLog(site: Site, after = 0): Promise<string> {
  const code = () => /\b(\d{8})\b/.exec(lastCodeLine(site, after))?.[1];
  return (await until(async () => code(), Boolean, 10)) ?? '';
}

function lastCodeLine(site: Site, after: number): string {
  const lines = site.service.output().slice(after).split('\n');
  return lines.findLast((line) => /code/i.test(line) && /\b\d{8}\b/.test(line)) ?? '';
}

const axeFile = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** In the dark, the quick run checks colours only: nothing else differs between the themes. */
const IN_THE_DARK = LONG ? RULES : ['color-contrast', 'link-in-text-block'];

/** The checks of axe find nothing on the page as it is, in the light and in the dark theme. */
export async function expectNoViolations(page: Page): Promise<void> {
  const axe = await readFile(axeFile, 'utf8');
  await page.evaluate(axe);
  for (const [colorScheme, rules] of [
    ['light', RULES],
    ['dark', IN_THE_DARK],
  ] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' }); // no fading between themes
    const { violations } = await page.evaluate(async (only): Promise<AxeResults> => {
      const { axe: loaded } = window as unknown as { axe: typeof import('axe-core') };
      return loaded.run(document, { runOnly: [...only] });
    }, rules);
    const found = violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
    );
    assert.deepEqual(found, [], `${page.url()} in the ${colorScheme} theme`);
  }
}

/** Waits until the page has its title, and nothing on it is loading. */
export async function settled(page: Page, title?: string): Promise<void> {
  const heading = page.locator('h1', title === undefined ? {} : { hasText: title });
  await heading.first().waitFor();
  await page.waitForFunction(() => document.querySelector('div[aria-busy="true"]') === null);
  await page.evaluate(() => document.fonts.ready.then(() => undefined));
}

/** Opens a path of the site. */
export async function open(page: Page, path: string, title?: string): Promise<void> {
  await page.goto(path);
  await settled(page, title);
}

/** The addresses of all pages of the documentation, those for operators included. */
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

const THEMES = ['light', 'dark'] as const;
const WIDTHS = [1280, 375];

/**
 * Pictures of the whole page as it is, in both themes and two widths:
 * `FOLDER/NAME-dark-375.png` and so on.
 */
export async function screenshots(page: Page, folder: string, name: string): Promise<void> {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: width > 500 ? 800 : 760 });
    await page.mouse.move(0, 0); // nothing is under it
    for (const colorScheme of THEMES) {
      await page.emulateMedia({ colorScheme });
      await page.evaluate(() => scrollTo(0, 0)); // what sticks to the top is drawn there
      await page.screenshot({
        path: `${folder}/${name}-${colorScheme}-${width}.png`,
        fullPage: true,
      });
    }
  }
}
