import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { UsageError } from '../errors.ts';
import { ROLE, readPassword } from './cluster.ts';
import type { DatabaseFolder } from './folder.ts';
import { isPostmaster, readPostmaster } from './postmaster.ts';

/** A server that took a connection. */
export interface Reached {
  url: string;
  pid: number;
  port: number;
}

const INVALID_PASSWORD = '28P01'; // Postgres, appendix A, error codes
/** A server that crashed just now looks like one that runs elsewhere, until its guard ends. */
const UNSEEN_SECONDS = 2;

/**
 * Waits until the server of this folder takes our connection. Refusals pass by while it starts,
 * recovers or stops.
 * @param isAlive whether it is still worth waiting
 * @returns undefined when the server is gone
 * @throws UsageError when it runs but is not ours to use, or is not ready in time
 */
export async function reachServer(
  folder: DatabaseFolder,
  isAlive: () => boolean | Promise<boolean>,
  timeoutSeconds: number,
): Promise<Reached | undefined> {
  const password = await readPassword(folder);
  const deadline = performance.now() + timeoutSeconds * 1000;
  let seenAt = performance.now();
  while (await isAlive()) {
    const server = await readPostmaster(folder);
    if (!server?.isReady || (await isPostmaster(server.pid, folder))) seenAt = performance.now();
    if (server?.isReady) {
      const url = `postgres://${ROLE}:${password}@127.0.0.1:${server.port}/postgres`;
      const refusal = await refusalOf(url);
      if (refusal === undefined) return { url, pid: server.pid, port: server.port };
      if (refusal.code === INVALID_PASSWORD) throw wrongPassword(folder);
      if (performance.now() > seenAt + UNSEEN_SECONDS * 1000) throw elsewhere(folder);
    }
    if (performance.now() > deadline) {
      throw new UsageError(`the embedded database was not ready within ${timeoutSeconds} s`);
    }
    await delay(10);
  }
  return undefined;
}

async function refusalOf(url: string): Promise<{ code: unknown } | undefined> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5000 });
  client.on('error', () => {}); // a server that stops just now says so in the query's error
  try {
    await client.connect();
    await client.query('select 1');
    return undefined;
  } catch (error) {
    return { code: error instanceof Error && 'code' in error ? error.code : undefined };
  } finally {
    await client.end().catch(() => {});
  }
}

function wrongPassword(folder: DatabaseFolder): UsageError {
  return new UsageError(`${folder.password} is not the password of the database beside it`);
}

function elsewhere(folder: DatabaseFolder): UsageError {
  return new UsageError(
    `the database in ${folder.path} runs in another container or on another machine: ` +
      'stop it there, or set DATABASE_URL here',
  );
}
