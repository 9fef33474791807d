import type { Config } from '../config/config.ts';
import { type Database, isDatabaseUnavailable, statement } from '../database/database.ts';
import type { Log } from '../kernel/log.ts';

/** The supervisor's pool, for migrations and readiness. */
export const FIRST_PROCESS_CONNECTIONS = 2;

/** Per process: the connection that probes the server during an outage. */
const TRYING = 1;
/** Per worker: the direct connection that listens for wake-ups. */
const LISTENING = 1;

type Settings = Pick<Config, 'processes' | 'databaseConnections' | 'databaseDirectUrl' | 'roles'>;

const ALLOWED = statement(
  'connections_allowed',
  `select current_setting('max_connections')::int
     - current_setting('superuser_reserved_connections')::int as allowed`,
);

export async function warnOfConnections(
  config: Settings,
  { db, log }: { db: Database; log: Log },
): Promise<void> {
  const [row] = await db.query<{ allowed: number }>(ALLOWED).catch((error: unknown) => {
    if (isDatabaseUnavailable(error)) return []; // a missing warning must not end a start
    throw error;
  });
  const needed = connectionsNeeded(config);
  if (!row || needed <= row.allowed) return;
  log.warn(
    { needed, allowed: row.allowed },
    'this start may need more connections than the database allows. Set DATABASE_CONNECTIONS or ' +
      'PROCESSES lower, or max_connections of Postgres higher',
  );
}

/** The most direct connections to Postgres; those through a pooler don't count. */
function connectionsNeeded(config: Settings): number {
  const { processes, databaseConnections, roles } = config;
  const listening = roles.has('worker') ? LISTENING : 0;
  if (config.databaseDirectUrl !== undefined) return listening;
  const each = databaseConnections + TRYING;
  if (processes === 1 || !roles.has('api')) return each + listening;
  const members = processes + (roles.has('worker') ? 1 : 0);
  return members * each + listening + FIRST_PROCESS_CONNECTIONS + TRYING;
}
