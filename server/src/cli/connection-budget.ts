import type { Config } from '../config/config.ts';
import { type Database, isDatabaseUnavailable, queryValue } from '../database/database.ts';
import type { Log } from '../kernel/log.ts';

/** The supervisor's pool, for migrations and readiness. */
export const FIRST_PROCESS_CONNECTIONS = 2;

type Settings = Pick<Config, 'processes' | 'databaseConnections' | 'databaseDirectUrl' | 'roles'>;

const readAllowed = queryValue<[], number>(
  'connections_allowed',
  `select current_setting('max_connections')::int
     - current_setting('superuser_reserved_connections')::int`,
  Number.POSITIVE_INFINITY,
);

export async function countConnections(config: Settings, db: Database) {
  return { needed: connectionsNeeded(config), allowed: await readAllowed(db) };
}

export async function warnOfConnections(
  config: Settings,
  { db, log }: { db: Database; log: Log },
): Promise<void> {
  const counted = await countConnections(config, db).catch((error: unknown) => {
    if (!isDatabaseUnavailable(error)) throw error; // a missing warning must not end a start
  });
  if (!counted || counted.needed <= counted.allowed) return;
  const { needed, allowed } = counted;
  log.warn(
    { needed, allowed },
    'this start may need more connections than the database allows. Set DATABASE_CONNECTIONS or ' +
      'PROCESSES lower, or max_connections of Postgres higher',
  );
}

/** How many direct connections to Postgres a start needs at most. A pooler's don't count. */
function connectionsNeeded(config: Settings): number {
  const { processes, databaseConnections, roles } = config;
  const listening = roles.has('worker') ? 1 : 0; // for wake-ups
  if (config.databaseDirectUrl !== undefined) return listening;
  const probing = 1; // during an outage
  const each = databaseConnections + probing;
  if (processes === 1 || !roles.has('api')) return each + listening;
  const members = processes + (roles.has('worker') ? 1 : 0);
  return members * each + listening + FIRST_PROCESS_CONNECTIONS + probing;
}
