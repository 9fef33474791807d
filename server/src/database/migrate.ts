import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { UsageError } from '../kernel/errors.ts';
import { searchPath } from './connection.ts';
import {
  pendingFiles,
  prepareMigrationsTable,
  readApplied,
  recordMissingChecksums,
  refuseChangedFiles,
  refuseNewerSchema,
} from './migration/applied-migrations.ts';
import { MIGRATIONS_FOLDER, readMigrations } from './migration/migration-files.ts';
import { type RunSettings, runMigration } from './migration/run-migration.ts';

/** Settings of tests; the folder's address ends with a slash. */
export interface MigrateOptions extends Partial<RunSettings> {
  folder?: URL;
}

const DEFAULTS: RunSettings = {
  report: () => {},
  lockMs: 500,
  pauseMs: 2000,
  patienceMs: 600_000,
};

/**
 * Brings the schema up to date: runs the files of `migrations/` that have not run yet, in order and
 * each in its own transaction (unless its header says otherwise). Several processes may call it at
 * once: an advisory lock lets only one of them run at a time.
 * @returns the names of the files that ran
 * @throws UsageError when a newer program has migrated the database, or an applied file changed
 */
export async function migrate(url: string, options: MigrateOptions = {}): Promise<string[]> {
  const { folder = MIGRATIONS_FOLDER, ...given } = options;
  const settings = { ...DEFAULTS, ...given };
  const files = await readMigrations(folder);
  return withConnection(url, async (client) => {
    await lock(client, settings);
    await prepareMigrationsTable(client);
    const applied = await readApplied(client);
    refuseNewerSchema(files, applied);
    refuseChangedFiles(files, applied);
    await recordMissingChecksums(client, files, applied);
    const ran: string[] = [];
    for (const file of pendingFiles(files, applied)) {
      if (applied.length > 0) settings.report(`${file.name} runs`);
      await runMigration(client, file, settings);
      ran.push(file.name);
    }
    return ran;
  });
}

/**
 * Checks that this program can work on the schema, and changes nothing.
 * @throws UsageError when migrations are pending, or a newer program has migrated the database
 */
export async function checkSchema(url: string): Promise<void> {
  const files = await readMigrations(MIGRATIONS_FOLDER);
  await withConnection(url, async (client) => {
    const applied = await readApplied(client);
    refuseNewerSchema(files, applied);
    const [first, ...others] = pendingFiles(files, applied);
    if (!first) return;
    const more = others.length > 0 ? ` and ${others.length} more` : '';
    const state = applied.length > 0 ? 'is older than this program' : 'has no tables yet';
    throw new UsageError(
      `the database ${state}: ${first.name}${more} must run first. ` +
        'Run "npx framewright migrate", or use the version of the running service.',
    );
  });
}

async function withConnection<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'framewright migrate',
    keepAlive: true,
  });
  client.on('error', () => {}); // the query under way fails too; its error is reported
  await client.connect();
  try {
    // A migration may take as long as it needs, whatever the settings of the role are.
    await client.query('set statement_timeout = 0; set lock_timeout = 0');
    await client.query(`select ${searchPath(url)}`);
    return await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}

/**
 * Waits for the lock by asking again and again. A statement that waits for it would hold a snapshot
 * all that time, and `create index concurrently` waits for each snapshot that is older than itself.
 */
async function lock(client: pg.Client, { report }: RunSettings): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    const { rows } = await client.query<{ locked: boolean }>(
      "select pg_try_advisory_lock(hashtext('framewright migrations')) as locked",
    );
    if (rows[0]?.locked) return;
    if (tries % 50 === 0) report('waiting for another process that migrates');
    await delay(200);
  }
}
