import {
  type EmbeddedDatabase,
  EmbeddedPostgresError,
  openEmbeddedDatabase,
} from 'embedded-postgres';
import pg from 'pg';
import type { DatabaseConfig } from './config/config.ts';
import { type Database, openDatabase } from './database/database.ts';
import { migrate } from './database/migrate.ts';
import { UsageError } from './kernel/errors.ts';
import type { Log } from './kernel/log.ts';
import { installQueue } from './queue/queue.ts';

/** Connections of the program's own pool; the queue has four more and one that listens. */
const CONNECTIONS = 24;

/** A database that is up to date, and how to leave it. */
export interface OpenedDatabase {
  url: string;
  db: Database;
  /** Whether an embedded database was made just now. */
  created: boolean;
  /** Calls the listener when an embedded server ends under us. */
  onExit(listener: (cause: string) => void): void;
  close(): Promise<void>;
}

/** Opens the configured database, the embedded one if none is, and brings its schema up to date. */
export async function openConfiguredDatabase(
  config: DatabaseConfig,
  log: Log,
): Promise<OpenedDatabase> {
  const { databaseUrl, dataDir } = config;
  const embedded = databaseUrl === undefined ? await openEmbedded(dataDir, log) : undefined;
  const url = databaseUrl ?? embedded?.url ?? '';
  try {
    await reach(url);
    await migrate(url);
    await installQueue(url);
    const db = openDatabase({ url, connections: CONNECTIONS, log });
    return {
      url,
      db,
      created: embedded?.created ?? false,
      onExit: (listener) => embedded?.onExit(listener),
      close: async () => {
        await db.close();
        await embedded?.close();
      },
    };
  } catch (error) {
    await embedded?.close();
    throw error;
  }
}

/** @throws UsageError, one line, for what an operator can fix */
async function openEmbedded(dataDir: string, log: Log): Promise<EmbeddedDatabase> {
  try {
    return await openEmbeddedDatabase({ dataDir, log });
  } catch (error) {
    if (error instanceof EmbeddedPostgresError) throw new UsageError(error.message);
    throw error;
  }
}

/** @throws UsageError, one line without the password, when there is no database to speak to */
async function reach(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  try {
    await client.connect();
  } catch (error) {
    const cause = error instanceof Error ? error.message || error.name : String(error);
    throw new UsageError(`the database can't be reached: ${cause}. Look at DATABASE_URL.`);
  } finally {
    await client.end().catch(() => {});
  }
}
