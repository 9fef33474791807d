import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { ROLE, readPassword } from './cluster.ts';
import { codeOf, EmbeddedPostgresError } from './error.ts';
import type { DatabaseFolder } from './folder.ts';
import { isPostmaster, readPostmaster } from './postmaster.ts';

export interface ReachedServer {
  url: string;
  pid: number;
  port: number;
}

const INVALID_PASSWORD = '28P01'; // Postgres, appendix A, error codes
/**
 * How long a server may refuse while its process can't be seen. Until its guard ends, a server that
 * has just crashed looks like one in another container or on another machine.
 */
const MAX_UNSEEN_SECONDS = 2;

/**
 * Waits until the server of this folder, which may be starting or stopping, accepts a connection.
 * @param isAlive whether the server may still become ready
 * @returns undefined when the server is gone
 * @throws EmbeddedPostgresError when it refuses our password, runs on another machine or in another
 *   container, or is not ready in time
 */
export async function reachServer(
  folder: DatabaseFolder,
  isAlive: () => boolean,
  timeoutSeconds: number,
): Promise<ReachedServer | undefined> {
  const password = await readPassword(folder);
  const deadline = performance.now() + timeoutSeconds * 1000;
  let seenAt = performance.now();
  while (isAlive()) {
    const server = await readPostmaster(folder);
    if (!server?.isReady || (await isPostmaster(server.pid, folder))) seenAt = performance.now();
    if (server?.isReady) {
      const url = `postgres://${ROLE}:${password}@127.0.0.1:${server.port}/postgres`;
      const refusal = await refusalOf(url);
      if (refusal === undefined) return { url, pid: server.pid, port: server.port };
      if (refusal.code === INVALID_PASSWORD) {
        throw new EmbeddedPostgresError(
          `${folder.password} is not the password of the database in ${folder.cluster}`,
        );
      }
      if (performance.now() > seenAt + MAX_UNSEEN_SECONDS * 1000) {
        throw new EmbeddedPostgresError(
          `the database in ${folder.path} runs in another container or on another machine: ` +
            'stop it there, or set DATABASE_URL here',
        );
      }
    }
    if (performance.now() > deadline) {
      throw new EmbeddedPostgresError(
        `the embedded database was not ready within ${timeoutSeconds} s`,
      );
    }
    await delay(10);
  }
  return undefined;
}

async function refusalOf(url: string): Promise<{ code: unknown } | undefined> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5000 });
  client.on('error', () => {}); // the query's error reports a server that stops now
  try {
    await client.connect();
    await client.query('select 1');
    return undefined;
  } catch (error) {
    return { code: codeOf(error) };
  } finally {
    await client.end().catch(() => {});
  }
}
