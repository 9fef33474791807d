import { readdir, readFile } from 'node:fs/promises';
import { type Database, statement } from '../../server/src/database/database.ts';
import type { Cost } from './units.ts';

/** The clock of /proc ticks this often in a second (proc(5), sysconf(_SC_CLK_TCK)). */
const TICKS = 100;

/** The CPU time of a process in milliseconds; also of its children that have ended, if asked. */
async function processTime(pid: number, withEnded = false): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  // After the name, which is in parentheses: utime, stime, cutime, cstime are fields 14 to 17.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = fields.slice(11, withEnded ? 15 : 13).map(Number);
  return (ticks.reduce((sum, value) => sum + value, 0) * 1000) / TICKS || 0;
}

/** The CPU time of a Postgres server: of its main process, and of all its children, ended ones too. */
async function serverTime(pid: number): Promise<number> {
  let total = await processTime(pid, true);
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = await readFile(`/proc/${entry}/stat`, 'latin1').catch(() => '');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (Number(fields[1]) === pid) total += await processTime(Number(entry));
  }
  return total;
}

const TOTALS = statement(
  'capacity_totals',
  `select (pg_current_wal_lsn() - '0/0')::float8 as wal,
     (select xact_commit from pg_stat_database where datname = current_database())::float8
       as commits`,
);

const SERVER = statement(
  'capacity_server',
  `select pg_read_file('postmaster.pid', 0, 10)::text as text`,
);

/** Measures what work costs: `start` it, do the work, `stop` it. */
export async function openMeter(db: Database, servicePid: number) {
  const [server] = await db.query<{ text: string }>(SERVER);
  const serverPid = Number.parseInt(server?.text ?? '', 10);
  const totals = async () => {
    const [row] = await db.query<{ wal: number; commits: number }>(TOTALS);
    return {
      process: await processTime(servicePid),
      database: await serverTime(serverPid),
      wal: row?.wal ?? 0,
      commits: row?.commits ?? 0,
    };
  };
  return {
    /** @returns what each of the units of this work cost */
    async measure(work: () => Promise<number>): Promise<Cost> {
      const before = await totals();
      const units = await work();
      await new Promise((resolve) => setTimeout(resolve, 1500)); // statistics come with a delay
      const after = await totals();
      return {
        processMs: (after.process - before.process) / units,
        databaseMs: (after.database - before.database) / units,
        walBytes: (after.wal - before.wal) / units,
        commits: (after.commits - before.commits) / units,
      };
    },
  };
}
