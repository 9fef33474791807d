import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { type Database, openDatabase } from '../../src/database/database.ts';
import { makeFolder } from '../../src/kernel/embedded/folder.ts';
import { findPostmaster } from '../../src/kernel/embedded/postmaster.ts';
import { openEmbeddedDatabase } from '../../src/kernel/embedded.ts';
import { quiet } from '../database.ts';
import { until } from '../until.ts';

/** Commits survive the end of the server's process, but not of the machine: enough for a test. */
const SETTINGS = { fsync: 'off', full_page_writes: 'off' };

/** A Postgres server that a test can stop while services use it. */
export interface RestartingDatabase extends AsyncDisposable {
  url: string;
  db: Database;
  /** Stops it by an immediate shutdown, as a crash would, and restarts it at the same address. */
  restart(outageSeconds: number): Promise<void>;
  readonly restarts: number;
}

export async function openRestartingDatabase(dataDir: string): Promise<RestartingDatabase> {
  const open = (own: { port?: string } = {}) =>
    openEmbeddedDatabase({ dataDir, log: quiet, settings: { ...SETTINGS, ...own } });
  let server = await open();
  const { url } = server;
  const { port } = new URL(url);
  const db = openDatabase({ url, connections: 6, log: quiet });
  let restarts = 0;
  return {
    ...{ url, db },
    async restart(outageSeconds) {
      await stopAtOnce(dataDir);
      await server.close();
      await delay(outageSeconds * 1000);
      server = await open({ port });
      assert.equal(server.url, url, 'the database has its old address');
      restarts += 1;
    },
    get restarts() {
      return restarts;
    },
    async [Symbol.asyncDispose]() {
      await db.close();
      await server.close();
    },
  };
}

async function stopAtOnce(dataDir: string): Promise<void> {
  const folder = await makeFolder(dataDir);
  const postmaster = await findPostmaster(folder);
  assert.ok(postmaster, 'the database is running');
  process.kill(postmaster.pid, 'SIGQUIT');
  await until(
    () => findPostmaster(folder),
    (found) => found === undefined,
  );
}
