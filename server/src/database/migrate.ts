import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { UsageError } from '../kernel/errors.ts';
import { searchPath } from './connection.ts';
import { makeMigrationsTable, readSchemaState } from './migration/applied-migrations.ts';
import { MIGRATIONS_FOLDER, readMigrations } from './migration/migration-files.ts';
import { type RunSettings, runMigration } from './migration/run-migration.ts';

/** Settings for tests; the folder's URL ends with a slash. */
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
 * Runs the files of `migrations/` that have not run yet, in order and each in its own transaction
 * (unless its header says otherwise). An advisory lock lets only one process run at a time.
 * @returns the names of the files that ran
 * @throws UsageError as {@link readSchemaState}
 */
export async function migrate(url: string, options: MigrateOptions = {}): Promise<string[]> {
  const { folder = MIGRATIONS_FOLDER, ...given } = options;
  const settings = { ...DEFAULTS, ...given };
  const files = await readMigrations(folder);
  return withConnection(url, async (client) => {
    const { pending } = await readSchemaState(client, files);
    if (pending.length === 0) return []; // so a role that can't migrate may start
    await requireOwner(client);
    await lock(client, settings);
    await makeMigrationsTable(client);
    // Read again: another process may have migrated before this one got the lock.
    const state = await readSchemaState(client, files);
    for (const file of state.pending) {
      if (!state.isNew) settings.report(`${file.name} runs`);
      await runMigration(client, file, settings);
    }
    return state.pending.map(({ name }) => name);
  });
}

const ADVICE = 'see docs/operators/database-roles.md.';

/** @throws UsageError when migrations are pending that the role may not run here */
async function requireOwner(client: pg.Client): Promise<void> {
  const { role, may_create } = await readRole(client);
  if (may_create) return;
  if (may_create === null)
    throw new UsageError(`the role ${role} may not use the schema: ${ADVICE}`);
  throw new UsageError(
    `the schema must be migrated, but the role ${role} may not change it. Run ` +
      `"npx --no-install framewright migrate" with the address of the role that ` +
      `owns the tables: ${ADVICE}`,
  );
}

export async function requirePrivileges(url: string): Promise<void> {
  const { role, denied } = await withConnection(url, readRole);
  const [first, ...others] = denied;
  if (first === undefined) return;
  const more = others.length > 0 ? ` and ${others.length} more` : '';
  throw new UsageError(
    `the role ${role} may not select, insert, update and delete in ${first}${more}. ` +
      `Grant it: ${ADVICE}`,
  );
}

interface RoleRow {
  role: string;
  read_only: boolean;
  /** null: there is no schema that it may use. */
  may_create: boolean | null;
  /** Tables that it may not read and write. */
  denied: string[];
}

const ROLE = `select current_user as role,
  current_setting('transaction_read_only') = 'on' as read_only,
  has_schema_privilege(current_schema(), 'create') as may_create,
  array(select relname::text from pg_class
   where relnamespace = current_schema()::regnamespace and relkind = 'r' and relname <> 'migrations'
     and not (has_table_privilege(oid, 'select') and has_table_privilege(oid, 'insert')
       and has_table_privilege(oid, 'update') and has_table_privilege(oid, 'delete'))
   order by relname) as denied`;

async function readRole(client: pg.Client): Promise<RoleRow> {
  const [row] = (await client.query<RoleRow>(ROLE)).rows;
  if (row && !row.read_only) return row;
  throw new UsageError(
    'the database is read-only: it is a standby, or default_transaction_read_only is on. Start ' +
      'with the address of the primary server.',
  );
}

/** @throws UsageError when migrations are pending, and as {@link readSchemaState} */
export async function checkSchema(url: string, folder = MIGRATIONS_FOLDER): Promise<void> {
  const files = await readMigrations(folder);
  await withConnection(url, async (client) => {
    const { pending, isNew } = await readSchemaState(client, files);
    const [first, ...others] = pending;
    if (!first) return;
    const more = others.length > 0 ? ` and ${others.length} more` : '';
    const state = isNew ? 'has no tables yet' : 'is older than this program';
    const otherwise = isNew ? '' : ', or use the version of the running service';
    throw new UsageError(
      `the database ${state}: ${first.name}${more} must run first. ` +
        `Run "npx --no-install framewright migrate"${otherwise}.`,
    );
  });
}

async function withConnection<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const application_name = 'framewright migrate';
  const client = new pg.Client({ connectionString: url, application_name, keepAlive: true });
  client.on('error', () => {}); // the query under way fails too; its error is reported
  await client.connect();
  try {
    // A migration may take as long as it needs, whatever the role's settings.
    await client.query('set statement_timeout = 0; set lock_timeout = 0');
    await client.query(`select ${searchPath(url)}`);
    return await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}

/** Polls: a statement that waits would hold a snapshot, for which concurrent index builds wait. */
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
