import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openEmbeddedDatabase } from 'embedded-postgres';
import { type Database, openDatabase } from '../../src/database/database.ts';
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
}

export async function openRestartingDatabase(dataDir: string): Promise<RestartingDatabase> {
  const open = (own: { port?: string } = {}) =>
    openEmbeddedDatabase({ dataDir, log: quiet, settings: { ...SETTINGS, ...own } });
  let server = await open();
  const { url } = server;
  const { port } = new URL(url);
  const db = openDatabase({ url, connections: 6, log: quiet });
  return {
    url,
    db,
    async restart(outageSeconds) {
      await stopAtOnce(dataDir);
      await server.close();
      await delay(outageSeconds * 1000);
      server = await open({ port });
      assert.equal(server.url, url, 'the database has its old address');
    },
    async [Symbol.asyncDispose]() {
      await db.close();
      await server.close();
    },
  };
}

/** Stops the server by Postgres' immediate shutdown and waits until its process is gone. */
async function stopAtOnce(dataDir: string): Promise<void> {
  const pidFile = path.join(dataDir, 'postgres', 'cluster', 'postmaster.pid');
  const pid = Number.parseInt(await readFile(pidFile, 'utf8'), 10);
  process.kill(pid, 'SIGQUIT');
  await until(
    async () => isRunning(pid),
    (running) => !running,
  );
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
