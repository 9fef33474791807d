import { EmbeddedPostgresError, openEmbeddedDatabase } from 'embedded-postgres';
import type { StopRequest } from './cli/stop-request.ts';
import type { DatabaseConfig } from './config/command-config.ts';
import { type Database, openDatabase } from './database/database.ts';
import { checkSchema, migrate, requirePrivileges } from './database/migrate.ts';
import { requireSameServer, requireServer } from './database/server.ts';
import { UsageError } from './kernel/errors.ts';
import type { Log } from './kernel/log.ts';

/** For operator commands: a long listing may take longer than a request. */
const COMMAND_POOL = { connections: 4, statementSeconds: 30 };

export interface OpenedDatabase {
  url: string;
  /** Postgres itself, for sessions such as LISTEN. Equals `url` without a pooler. */
  directUrl: string;
  db: Database;
  /** Whether this start made the embedded database. */
  created: boolean;
  /** Resolves with the cause of an unexpected exit of the embedded server. */
  exited: Promise<string>;
  close(): Promise<void>;
}

interface OpenOptions {
  log: Log;
  /** false: an older schema is refused. A new embedded database is always migrated. */
  migrates: boolean;
  /** Refuses to create an embedded database. */
  mustExist?: boolean;
  report?: (text: string) => void;
  /** See {@link openDatabase}; the default suits an operator command. */
  pool?: { connections: number; statementSeconds?: number };
}

/**
 * Opens the database of DATABASE_URL, or the embedded one if that variable is not set.
 * @throws UsageError when it can't be reached, or this program can't work with its schema
 */
export async function openConfiguredDatabase(
  config: DatabaseConfig,
  { log, migrates, mustExist = false, report = () => {}, pool = COMMAND_POOL }: OpenOptions,
): Promise<OpenedDatabase> {
  const { databaseUrl, databaseDirectUrl, poolerStatements, dataDir } = config;
  const embedded =
    databaseUrl === undefined
      ? await withUsageErrors(() => openEmbeddedDatabase({ dataDir, log, mustExist }))
      : undefined;
  const closeEmbedded = () => withUsageErrors(async () => embedded?.close());
  const url = databaseUrl ?? embedded?.url ?? '';
  const directUrl = databaseDirectUrl ?? url;
  try {
    await requireServer(directUrl, databaseDirectUrl ? 'DATABASE_DIRECT_URL' : 'DATABASE_URL');
    if (databaseDirectUrl !== undefined) await requireSameServer(url, directUrl);
    if (migrates || embedded?.created) {
      // A new database's migrations are not worth reporting.
      await migrate(directUrl, embedded?.created ? {} : { report });
      await requirePrivileges(directUrl);
    } else {
      await checkSchema(directUrl);
    }
    // Operator commands go past the pooler, whose sessions have the timeouts of the service.
    const isPooled = databaseDirectUrl !== undefined && pool !== COMMAND_POOL;
    const through = isPooled ? { url, pooler: poolerStatements } : { url: directUrl };
    const db = openDatabase({ ...through, ...pool, log });
    return {
      url,
      directUrl,
      db,
      created: embedded?.created ?? false,
      exited: embedded?.exited ?? new Promise(() => {}),
      close: async () => {
        await db.close();
        await closeEmbedded();
      },
    };
  } catch (error) {
    await closeEmbedded();
    throw error;
  }
}

/** Opens the service's database. If the embedded database ends, the process stops. */
export async function openForService(
  config: DatabaseConfig,
  options: { log: Log; stop: StopRequest; migrates: boolean; connections: number },
): Promise<OpenedDatabase> {
  const { log, stop, migrates, connections } = options;
  const report = (text: string) => log.info(`migrations: ${text}`);
  const pool = { connections };
  const opened = await openConfiguredDatabase(config, { log, migrates, report, pool });
  void opened.exited.then((cause) => {
    log.fatal({ cause }, 'the embedded database ended; the service shuts down');
    stop.request(1);
  });
  return opened;
}

/** @throws UsageError with one line, for embedded database errors that operators can fix */
async function withUsageErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof EmbeddedPostgresError) throw new UsageError(error.message);
    throw error;
  }
}
