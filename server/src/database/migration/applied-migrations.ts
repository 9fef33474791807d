import type pg from 'pg';
import { UsageError } from '../../kernel/errors.ts';
import { type Queryable, statement } from '../database.ts';
import { EARLIER_CHECKSUMS } from './earlier-checksums.ts';
import { type MigrationFile, numberOf } from './migration-files.ts';

/** A row of the table `migrations`: a file that has run. Older programs wrote the name only. */
interface AppliedMigration {
  name: string;
  checksum: string | null;
  oldest_program: string | null;
}

/** Creates the table `migrations`, or adds the columns that older programs did not have. */
export async function prepareMigrationsTable(client: pg.Client): Promise<void> {
  await client.query(
    `create table if not exists migrations
       (name text primary key, ran_at timestamptz not null default now())`,
  );
  if (await hasNewColumns(client)) return; // an `alter table` would wait for each reader
  await client.query(
    'alter table migrations add column checksum text, add column oldest_program text',
  );
}

async function hasNewColumns(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query(
    `select from pg_attribute where attrelid = to_regclass('migrations')
       and attname = 'oldest_program' and not attisdropped`,
  );
  return rows.length > 0;
}

/** The rows of the table `migrations`; no rows if the database has no such table. */
export async function readApplied(client: pg.Client): Promise<AppliedMigration[]> {
  const { rows } = await client.query<{ present: boolean }>(
    `select to_regclass('migrations') is not null as present`,
  );
  if (!rows[0]?.present) return [];
  const columns = (await hasNewColumns(client))
    ? 'checksum, oldest_program'
    : 'null as checksum, null as oldest_program';
  return (await client.query<AppliedMigration>(`select name, ${columns} from migrations`)).rows;
}

const RAN_AT = statement('migration_ran_at', 'select ran_at as at from migrations where name = $1');

/** When a file has run; undefined: not yet. */
export async function migratedAt(db: Queryable, name: string): Promise<Date | undefined> {
  const [migration] = await db.query<{ at: Date }>(RAN_AT, [name]);
  return migration?.at;
}

/** The files that have not run yet. */
export function pendingFiles(
  files: readonly MigrationFile[],
  applied: readonly AppliedMigration[],
): MigrationFile[] {
  const names = new Set(applied.map(({ name }) => name));
  return files.filter(({ name }) => !names.has(name));
}

/**
 * Refuses a schema with migrations that this program does not have, unless each of them says that
 * a program this old still works (`oldest-program`).
 * @throws UsageError
 */
export function refuseNewerSchema(
  files: readonly MigrationFile[],
  applied: readonly AppliedMigration[],
): void {
  const own = new Set([...Object.keys(EARLIER_CHECKSUMS), ...files.map(({ name }) => name)]);
  const program = numberOf(files.at(-1)?.name ?? '0000');
  const wrong = applied
    .filter(({ name }) => !own.has(name))
    .find(({ oldest_program: oldest }) => oldest === null || oldest > program);
  if (!wrong) return;
  const needed = wrong.oldest_program ?? numberOf(wrong.name);
  throw new UsageError(
    `a newer version has migrated the database (${wrong.name}). The oldest program that works on ` +
      `it is ${needed}; this one is ${program}. Run the newer version.`,
  );
}

/**
 * Refuses files that were changed after they had run: then the schema is not what the files say.
 * Texts that the main branch had earlier are accepted ({@link EARLIER_CHECKSUMS}).
 * @throws UsageError
 */
export function refuseChangedFiles(
  files: readonly MigrationFile[],
  applied: readonly AppliedMigration[],
): void {
  const checksums = new Map(applied.map((row) => [row.name, row.checksum]));
  const changed = files.filter((file) => {
    const recorded = checksums.get(file.name) ?? file.checksum;
    return ![file.checksum, ...(EARLIER_CHECKSUMS[file.name] ?? [])].includes(recorded);
  });
  if (changed.length === 0) return;
  const names = changed.map(({ name }) => name).join(', ');
  throw new UsageError(
    `migrations changed after they had run: ${names}. Restore the files as they were released, ` +
      'and make the change in a new migration.',
  );
}

/** Records a file that has run, together with what older programs must know about it. */
export async function recordApplied(client: pg.Client, file: MigrationFile): Promise<void> {
  await client.query(
    'insert into migrations (name, checksum, oldest_program) values ($1, $2, $3)',
    [file.name, file.checksum, file.oldestProgram],
  );
}

/** Adds the checksums of files that ran before checksums were recorded. */
export async function recordMissingChecksums(
  client: pg.Client,
  files: readonly MigrationFile[],
  applied: readonly AppliedMigration[],
): Promise<void> {
  const missing = new Set(applied.filter((row) => row.checksum === null).map((row) => row.name));
  for (const { name, checksum } of files.filter((file) => missing.has(file.name))) {
    await client.query('update migrations set checksum = $2 where name = $1', [name, checksum]);
  }
}
