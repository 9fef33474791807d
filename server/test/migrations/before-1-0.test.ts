import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { readDatabaseConfig } from '../../src/config/command-config.ts';
import { openConfiguredDatabase } from '../../src/open-database.ts';
import { createTestDatabase, quiet } from '../database.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** The rows that the runner before 1.0.0 wrote: at first without the two last columns. */
const EARLIEST = `
  create table migrations (name text primary key, ran_at timestamptz not null default now());
  insert into migrations (name) values ('0001_clock.sql'), ('0002_accounts.sql')`;
const LATEST = `
  ${EARLIEST};
  alter table migrations add column checksum text, add column oldest_program text;
  update migrations set checksum = repeat('ab', 32);
  insert into migrations (name, checksum, oldest_program)
  values ('0150_no_archive.sql', repeat('ab', 32), '0150')`;

const REFUSAL = {
  name: 'UsageError',
  message:
    /^the database is from before version 1\.0\.0.*the last commit that opens it, [0-9a-f]{12}, or start with a new database: another DATABASE_URL, or another DATA_DIR.*$/,
};

/** Runs statements on a database, in which nothing may be written from then on. */
async function prepare(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('drop schema public cascade; create schema public');
  await client.query(text);
  const name = new URL(url).pathname.slice(1);
  await client.query(`alter database ${name} set default_transaction_read_only = on`);
  await client.end();
}

async function assertRefused(env: Record<string, string>): Promise<void> {
  const config = readDatabaseConfig(env);
  for (const migrates of [true, false]) {
    await assert.rejects(openConfiguredDatabase(config, { log: quiet, migrates }), REFUSAL);
  }
}

test('a database from before 1.0.0 is refused before any write, with the last commit for it', async (t) => {
  for (const text of [EARLIEST, LATEST]) {
    const database = await createTestDatabase();
    t.after(() => database.close());
    await prepare(database.url, text);
    await using folder = await temporaryFolder();
    await assertRefused({ DATABASE_URL: database.url, DATA_DIR: folder.path });
  }
});
