import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { browserProgram, NO_BROWSER } from './browser.ts';
import { openSite } from './site.ts';

// The scores of Lighthouse on a phone with a slow network: lighthouse.ts [PATH...]
// It comes from npm into a temporary folder, so that the repository does not depend on it.

const LIGHTHOUSE = 'lighthouse@12.8.2';
const PAGES = [
  '/',
  '/docs/quickstart',
  '/docs/inputs',
  '/docs/paying-once',
  '/docs/errors',
  '/docs/test-keys',
  '/docs/webhooks',
  '/docs/reference/createVideo',
];

/** The part of a report that is printed. */
interface Report {
  categories: Record<'performance' | 'accessibility' | 'best-practices' | 'seo', { score: number }>;
  audits: Record<string, { displayValue: string }>;
}

async function main(paths: string[]): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'lighthouse-'));
  const npx = (...args: string[]) => {
    const CHROME_PATH = path.join(folder, 'browser');
    const env = { ...process.env, npm_config_cache: folder, CHROME_PATH };
    const all = ['--yes', LIGHTHOUSE, ...args];
    return spawnSync('npx', all, { env, encoding: 'utf8', maxBuffer: 2 ** 26 });
  };
  try {
    const missing = NO_BROWSER || whyMissing(npx('--version'));
    if (missing) return print(`skipped: ${missing}`);
    await writeBrowser(path.join(folder, 'browser'));
    const site = await openSite();
    try {
      for (const page of paths.length > 0 ? paths : PAGES) {
        const options = ['--quiet', '--output=json', '--chrome-flags=--headless --no-sandbox'];
        const { stdout, stderr } = npx(`${site.url}${page}`, ...options);
        print(stdout ? `${page}  ${scoresOf(JSON.parse(stdout))}` : `${page}  ${stderr}`);
      }
    } finally {
      await site.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const print = (line: string) => void process.stdout.write(`${line}\n`);

function whyMissing({ status, stderr }: ReturnType<typeof spawnSync>): string | false {
  return status !== 0 && `${LIGHTHOUSE} can't be had from npm: ${String(stderr).slice(-300)}`;
}

/** The libraries of the browser are for the browser only, so it is started by a shell. */
async function writeBrowser(file: string): Promise<void> {
  const { executablePath, env = {} } = await browserProgram();
  const variables = Object.entries(env).map(([name, value]) => `export ${name}='${value}'\n`);
  const script = `#!/bin/sh\n${variables.join('')}exec '${executablePath}' "$@"\n`;
  await writeFile(file, script, { mode: 0o755 });
}

function scoresOf({ categories, audits }: Report): string {
  const scores = Object.entries(categories).map(
    ([name, { score }]) => `${name} ${Math.round(score * 100)}`,
  );
  const times = ['largest-contentful-paint', 'total-blocking-time', 'cumulative-layout-shift'];
  return [...scores, ...times.map((name) => `${name} ${audits[name]?.displayValue}`)].join(', ');
}

await main(process.argv.slice(2));
