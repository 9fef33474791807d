import type { Config } from '../config/config.ts';
import { type Database, statement } from '../database/database.ts';
import type { Log } from '../kernel/log.ts';

/** Of each process, beside its pool: the queue, and trying the server during an outage. */
const OTHER_CONNECTIONS = 6;

const ALLOWED = statement(
  'connections_allowed',
  `select current_setting('max_connections')::int
     - current_setting('superuser_reserved_connections')::int as allowed`,
);

/** Warns when the processes of one start may need more connections than the server allows. */
export async function warnOfConnections(
  config: Pick<Config, 'processes' | 'databaseConnections' | 'databaseDirectUrl' | 'roles'>,
  { db, log }: { db: Database; log: Log },
): Promise<void> {
  const { processes, databaseConnections, roles } = config;
  const isPooled = config.databaseDirectUrl !== undefined;
  const each = OTHER_CONNECTIONS + (isPooled ? 0 : databaseConnections);
  const count = processes + (processes > 1 && roles.has('worker') ? 1 : 0);
  const [row] = await db.query<{ allowed: number }>(ALLOWED);
  const needed = count * each;
  if (!row || needed <= row.allowed) return;
  log.warn(
    { needed, allowed: row.allowed, processes: count },
    'these processes may need more connections than the database allows. Set ' +
      'DATABASE_CONNECTIONS or PROCESSES lower, or max_connections of Postgres higher',
  );
}
