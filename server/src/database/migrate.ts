import { readdir, readFile } from 'node:fs/promises';
import pg from 'pg';

const FOLDER = new URL('../../migrations/', import.meta.url);

/**
 * Brings the schema up to date: runs the files of `migrations/` that have not run yet, in order and
 * each in its own transaction. Several processes may call it at once: an advisory lock lets only
 * one of them run at a time.
 * @returns the names of the files that ran
 */
export async function migrate(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query("select pg_advisory_lock(hashtext('framewright migrations'))");
    await client.query(
      `create table if not exists migrations
         (name text primary key, ran_at timestamptz not null default now())`,
    );
    const ran: string[] = [];
    for (const name of await pendingFiles(client)) {
      await runFile(client, name);
      ran.push(name);
    }
    return ran;
  } finally {
    await client.end();
  }
}

async function pendingFiles(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>('select name from migrations');
  const done = new Set(rows.map((row) => row.name));
  const files = (await readdir(FOLDER)).filter((name) => name.endsWith('.sql')).sort();
  return files.filter((name) => !done.has(name));
}

async function runFile(client: pg.Client, name: string): Promise<void> {
  const sql = await readFile(new URL(name, FOLDER), 'utf8');
  await client.query('begin');
  try {
    await client.query(sql);
    await client.query('insert into migrations (name) values ($1)', [name]);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw new Error(`migration ${name} failed`, { cause: error });
  }
}
