import { type Database, statement } from '../../server/src/database/database.ts';
import { cpuSeconds, serverPid, treeSeconds } from '../cpu-time.ts';
import type { Cost } from './units.ts';

const TOTALS = statement(
  'capacity_totals',
  `select (pg_current_wal_lsn() - '0/0')::float8 as wal,
     (select xact_commit from pg_stat_database where datname = current_database())::float8
       as commits`,
);

/** Measures what work costs: `start` it, do the work, `stop` it. */
export async function openMeter(db: Database, servicePid: number) {
  const server = await serverPid(db);
  const totals = async () => {
    const [row] = await db.query<{ wal: number; commits: number }>(TOTALS);
    return {
      process: (await cpuSeconds(servicePid)) * 1000,
      database: (await treeSeconds(server)) * 1000,
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
