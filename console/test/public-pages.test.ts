import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { longTest } from '../../server/test/long.ts';
import { buildPages } from '../build.ts';
import { NO_BROWSER } from './browser.ts';
import { expectNoViolations, openSite, type Site, settled } from './site.ts';

const options = { skip: NO_BROWSER };
let site: Site;

before(async () => {
  if (!NO_BROWSER) site = await openSite();
});

after(() => site?.close());

function isPaused(page: Page): Promise<boolean> {
  return page.evaluate(() => document.querySelector('video')?.paused ?? true);
}

test('the first page plays a video', options, async () => {
  const page = await site.newPage({ reducedMotion: 'no-preference' });
  const refused: string[] = [];
  page.on('response', (one) => one.status() >= 400 && refused.push(one.url()));
  await page.goto('/');
  await settled(page, 'Pay for the video');
  await page.waitForFunction(() => (document.querySelector('video')?.currentTime ?? 0) > 0.2);
  await page.getByRole('button', { name: 'Pause the sample' }).click();
  assert.equal(await isPaused(page), true);
  assert.deepEqual(refused, [], 'the browser of a stranger would log them as errors');
  await expectNoViolations(page);
});

longTest('who prefers less motion gets a still and a button', options, async () => {
  const page = await site.newPage({ reducedMotion: 'reduce' });
  await page.goto('/');
  const play = page.getByRole('button', { name: 'Play the sample' });
  await play.waitFor();
  assert.equal(await isPaused(page), true);
  await play.click();
  await page.waitForFunction(() => (document.querySelector('video')?.currentTime ?? 0) > 0.2);
});

test(
  'a page that needs a session leads to the sign-in, and names where to go then',
  options,
  async () => {
    const page = await site.newPage();
    await page.goto('/keys?x=1');
    await settled(page, 'Sign in');
    const { pathname, searchParams } = new URL(page.url());
    assert.equal(pathname, '/sign-in');
    assert.equal(searchParams.get('next'), '/keys?x=1');
  },
);

test('going to another page moves the focus to its title', options, async () => {
  const page = await site.newPage();
  await page.goto('/sign-in');
  await settled(page);
  await page.getByRole('navigation').getByRole('link', { name: 'Prices' }).click();
  await settled(page, 'Prices');
  await page.waitForFunction(() => document.activeElement?.tagName === 'H1');
  assert.match(await page.title(), /^Prices/);
});

longTest('where nothing is sold, the prices name no packs', options, async () => {
  const page = await site.newPage();
  await page.goto('/pricing');
  await page.getByText('Try it in the playground').waitFor();
  assert.equal(await page.getByText('What credits cost').count(), 0);
});

test('a page whose file can not be loaded says so', options, async () => {
  const page = await site.newPage();
  await page.goto('/sign-in');
  await settled(page);
  await page.route('**/assets/pricing-*.js', (route) => route.abort());
  await page.getByRole('navigation').getByRole('link', { name: 'Prices' }).click();
  await settled(page, 'This page could not be loaded');
  await expectNoViolations(page);
  await page.unroute('**/assets/pricing-*.js');
  await page.getByRole('button', { name: 'Load it again' }).click();
  await settled(page, 'Prices');
});

longTest('the chosen theme stays, and is there before the first paint', options, async () => {
  const page = await site.newPage({ colorScheme: 'light' });
  await page.goto('/sign-in');
  await page.getByRole('button', { name: 'Use the dark theme' }).click();
  await page.goto('/no/such/page');
  const theme = () => document.documentElement.dataset.theme;
  assert.equal(await page.evaluate(theme), 'dark');
  await page.getByRole('button', { name: 'Use the light theme' }).click();
  assert.equal(await page.evaluate(theme), undefined, 'it follows the system again');
});

longTest('without a connection the site says so, until it is back', options, async () => {
  const page = await site.newPage();
  await page.goto('/sign-in');
  await settled(page);
  await page.context().setOffline(true);
  await page.getByText('You are offline').waitFor();
  await page.getByLabel('E-mail address').fill('ada@example.com');
  await page.getByRole('button', { name: 'Send the code' }).click();
  await page.getByText('can’t be reached').waitFor();
  await expectNoViolations(page);
  await page.context().setOffline(false);
  await page.getByText('You are offline').waitFor({ state: 'detached' });
});

longTest('nothing is wider than a phone', options, async () => {
  const page = await site.newPage({ viewport: { width: 375, height: 760 } });
  for (const url of ['/', '/pricing', '/sign-in', '/no/such/page']) {
    await page.goto(url);
    await settled(page);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 375, `${url} is ${width} px wide`);
  }
});

/** The most script that a page may load, in bytes, compressed. The chart alone has 23 KB. */
const MAX_SCRIPT_BYTES = 62 * 1024;

test('each page loads at most 62 KB of script', async () => {
  const folder = path.join(await buildPages(), 'assets');
  const scripts = (await readdir(folder)).filter((name) => name.endsWith('.js'));
  const texts = new Map<string, string>();
  for (const name of scripts) texts.set(name, await readFile(path.join(folder, name), 'utf8'));
  const entry = scripts.find((name) => /^index-/.test(name)) ?? '';
  const size = (name: string) => gzipSync(texts.get(name) ?? '').length;
  /** The file and all that it imports, also later, except other pages. */
  const reach = (name: string, found = new Set<string>()): Set<string> => {
    if (found.has(name) || !texts.has(name)) return found;
    found.add(name);
    const targets = (texts.get(name) ?? '').matchAll(/["'`]\.\/([\w-]+\.js)["'`]/g);
    for (const [, target = ''] of targets) reach(target, found);
    return found;
  };
  const start =
    size(entry) +
    scripts.filter((name) => /^theme-/.test(name)).reduce((sum, name) => sum + size(name), 0);
  assert.ok(start < MAX_SCRIPT_BYTES / 2, `the shell has ${start} bytes`);
  for (const page of scripts) {
    const all = reach(page, new Set([entry]));
    const bytes =
      start + [...all].filter((name) => name !== entry).reduce((sum, name) => sum + size(name), 0);
    assert.ok(bytes <= MAX_SCRIPT_BYTES, `${page}: ${bytes} bytes`);
  }
});

/** The browsers that this process has started and that still run. */
async function ownBrowsers(): Promise<string[]> {
  const children = await readFile(`/proc/self/task/${process.pid}/children`, 'utf8');
  const pids = children.trim().split(' ').filter(Boolean);
  const programs = pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''));
  return (await Promise.all(programs)).filter((program) => program.includes('chrom'));
}

test('a site whose service can not start leaves no browser', {
  skip: NO_BROWSER || (process.platform !== 'linux' && 'processes are in /proc on Linux only'),
}, async () => {
  const before = await ownBrowsers();
  assert.equal(before.length, 1);
  await assert.rejects(openSite({ LOG_LEVEL: 'loud' }), /the service ended \(2\).*LOG_LEVEL/s);
  assert.equal((await ownBrowsers()).length, before.length);
});
