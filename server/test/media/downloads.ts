import { readFile } from 'node:fs/promises';
import { after } from 'node:test';
import { parseAllowList } from '../../src/outbound/addresses.ts';
import { ByteBudget } from '../../src/outbound/byte-budget.ts';
import type { DownloadOptions } from '../../src/outbound/download.ts';
import {
  createGuardedFetch,
  type GuardedFetch,
  type GuardedFetchOptions,
} from '../../src/outbound/guarded-fetch.ts';
import { TEST_CA_FILE } from '../tls/certificates.ts';
import { startMediaHost } from './media-host.ts';

/** A host and guarded fetches that may download from it, until the tests of the file are over. */
export async function openDownloads() {
  const ca = await readFile(TEST_CA_FILE, 'utf8');
  const host = await startMediaHost();
  const opened: GuardedFetch[] = [];
  after(async () => {
    await Promise.all(opened.map((guardedFetch) => guardedFetch.close()));
    await host.close();
  });
  return {
    host,
    /** @param allow the allow list; the host as localhost when not given */
    open(
      options: Partial<GuardedFetchOptions> = {},
      allow = `localhost:${host.port}`,
    ): GuardedFetch {
      const made = createGuardedFetch({ allow: parseAllowList(allow), ca, ...options });
      opened.push(made);
      return made;
    },
  };
}

/** The bytes of a download, of a megabyte at most. */
export async function bytesFrom(
  through: GuardedFetch,
  url: string,
  options: Partial<DownloadOptions> = {},
): Promise<Buffer> {
  const budget = new ByteBudget(1_000_000);
  return Buffer.concat(await Array.fromAsync(await through.download(url, { budget, ...options })));
}
