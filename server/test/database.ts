import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openEmbeddedDatabase } from 'embedded-postgres';
import pg from 'pg';
import { type Database, openDatabase, statement } from '../src/database/database.ts';
import { migrate } from '../src/database/migrate.ts';
import { createLog } from '../src/kernel/log.ts';

/** Silent, so that a test run prints nothing but its results. */
export const quiet = createLog({ level: 'silent' });

/** The data folder of a test run. The runner sets it; a test file that is run alone has a default. */
const HOME = process.env.FRAMEWRIGHT_TEST_HOME ?? path.join(tmpdir(), 'framewright-test');

/** Tests need no durability. */
const SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '400', // of all services that run at a time
};

/** Opens the test run's Postgres, which all test files that run at a time share. */
export function openTestServer() {
  return openEmbeddedDatabase({ dataDir: HOME, log: quiet, settings: SETTINGS });
}

/** PgBouncer in front of the test run's Postgres, as the runner started it: `127.0.0.1:port`. */
export const POOLER = process.env.FRAMEWRIGHT_TEST_POOLER;
export const POOLER_STATEMENTS: 'named' | 'unnamed' =
  process.env.POOLER_STATEMENTS === 'unnamed' ? 'unnamed' : 'named';

export interface TestDatabase {
  /** Of Postgres itself. */
  url: string;
  db: Database;
  /** Sets how far `clock_now()` is ahead of the machine's clock. */
  setClock(offsetSeconds: number): Promise<void>;
  close(): Promise<void>;
}

/** A new database for one test, cloned from an empty one with the newest schema. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const server = await openTestServer();
  const name = `test_${process.pid}_${Date.now()}_${Math.floor(Math.random() * 1e9)}`;
  await cloneTemplate(server.url, name);
  const url = withDatabase(server.url, name);
  const through =
    POOLER === undefined ? { url } : { url: throughPooler(url, POOLER), pooler: POOLER_STATEMENTS };
  const db = openDatabase({ ...through, connections: 12, log: quiet, statementSeconds: 30 });
  return {
    url,
    db,
    setClock: async (offsetSeconds) => {
      await db.query(
        statement(
          `clock_${offsetSeconds}`,
          `create or replace function clock_now() returns timestamptz language sql volatile
           as $$ select clock_timestamp() + interval '${offsetSeconds} seconds' $$`,
        ),
      );
    },
    close: async () => {
      await db.close();
      await administer(server.url, (client) =>
        client.query(`drop database if exists ${name} with (force)`),
      );
      await server.close();
    },
  };
}

/** The same database through a pooler at this host and port. */
export function throughPooler(url: string, host: string): string {
  const changed = new URL(url);
  changed.host = host;
  return changed.href;
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}

async function administer<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function cloneTemplate(url: string, name: string): Promise<void> {
  const template = `template_${await schemaHash()}`;
  await administer(url, async (client) => {
    await client.query('select pg_advisory_lock(7)');
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [
      template,
    ]);
    if (rowCount === 0) await makeTemplate(client, url, template);
    // Copies files; the default writes each page to the WAL and takes several times as long.
    await client.query(`create database ${name} template ${template} strategy file_copy`);
  });
}

async function makeTemplate(client: pg.Client, url: string, template: string): Promise<void> {
  const unfinished = `${template}_new`;
  await client.query(`drop database if exists ${unfinished} with (force)`);
  await client.query(`create database ${unfinished}`);
  await migrate(withDatabase(url, unfinished));
  await client.query(`alter database ${unfinished} rename to ${template}`);
}

async function schemaHash(): Promise<string> {
  const folder = new URL('../migrations/', import.meta.url);
  const hash = createHash('sha256');
  for (const name of (await readdir(folder)).sort())
    hash.update(await readFile(new URL(name, folder)));
  return hash.digest('hex').slice(0, 16);
}
