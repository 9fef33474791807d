import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
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
import { launchBrowser } from './browser.ts';

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

/** Signs in by the mailed code, which a service without a mail server writes to its log. */
export async function signIn(site: Site, page: Page, email: string): Promise<void> {
  const before = site.service.output().length;
  const headers = { origin: site.url };
  const asked = await page.request.post(`${site.url}/auth/code`, { headers, data: { email } });
  assert.ok(asked.ok(), `asking for a code: ${asked.status()} ${await asked.text()}`);
  const code = await codeFromLog(site, before);
  const verified = await page.request.post(`${site.url}/auth/code/verify`, {
    headers,
    data: { email, code },
  });
  assert.ok(verified.ok(), `signing in: ${verified.status()} ${await verified.text()}`);
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
/** The rules that look at colours: nothing else differs between the themes. */
const OF_COLOURS = ['color-contrast', 'link-in-text-block'];

const seenInTheDark = new Set<string>();

/** Usually each page once, whatever is open on it: the colours are those of the whole theme. */
function inTheDark(page: Page): [['dark', string[]]] | [] {
  const { pathname } = new URL(page.url());
  if (LONG) return [['dark', RULES]];
  if (seenInTheDark.has(pathname)) return [];
  seenInTheDark.add(pathname);
  return [['dark', OF_COLOURS]];
}

/** The checks of axe find nothing on the page as it is, in the light and in the dark theme. */
export async function expectNoViolations(page: Page): Promise<void> {
  const axe = await readFile(axeFile, 'utf8');
  await page.evaluate(axe);
  for (const [colorScheme, rules] of [['light', RULES], ...inTheDark(page)] as const) {
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
