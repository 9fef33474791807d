import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { createKey } from '../../src/accounts/api-keys.ts';
import { makeCustomer } from '../customer.ts';
import type { TestDatabase } from '../database.ts';
import { startMediaHost } from '../media/media-host.ts';
import { INHERITED } from './service-process.ts';

const SUITE = new URL('../../../acceptance/', import.meta.url);

/** Serves the media files of the suite. */
export async function serveMedia() {
  const host = await startMediaHost();
  const folder = new URL('media/', SUITE);
  for (const name of await readdir(folder)) {
    host.serve(`/${name}`, { kind: 'bytes', bytes: await readFile(new URL(name, folder)) });
  }
  return host;
}

/** Enough keys that the suite never waits for the rate limit. */
const KEYS = 6;
const TEST_KEYS = 6;
const CREDITS = 2000;

export async function makeAccounts({ db }: TestDatabase): Promise<Record<string, string>> {
  const customer = await makeCustomer(db, CREDITS);
  const keys = [customer.secret];
  while (keys.length < KEYS) {
    keys.push((await createKey(db, { accountId: customer.accountId })).secret);
  }
  const testKeys = Array.from({ length: TEST_KEYS }, () =>
    createKey(db, { accountId: customer.accountId, mode: 'test' }),
  );
  return {
    FRAMEWRIGHT_KEYS: keys.join(','),
    FRAMEWRIGHT_TEST_KEYS: (await Promise.all(testKeys)).map(({ secret }) => secret).join(','),
    FRAMEWRIGHT_POOR_KEY: (await makeCustomer(db, 0)).secret,
    FRAMEWRIGHT_OTHER_KEY: (await makeCustomer(db, CREDITS)).secret,
  };
}

/** Runs the suite in a process of its own that gets these variables and what every process inherits. */
export async function runSuite(
  env: Record<string, string>,
): Promise<{ code: number; report: string }> {
  // Most of its time is waiting.
  const flags = ['--test', '--test-reporter=tap', '--test-concurrency=8'];
  const child = spawn(process.execPath, [...flags, fileURLToPath(SUITE)], {
    env: { ...INHERITED, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let report = '';
  child.stdout.setEncoding('utf8').on('data', (part) => {
    report += part;
  });
  const [code] = await once(child, 'close');
  return { code, report };
}

/** A number from the summary at the end of the report, such as `# skipped 0`. */
export function countOf(report: string, what: string): number {
  return Number(new RegExp(`^# ${what} (\\d+)$`, 'm').exec(report)?.[1]);
}
