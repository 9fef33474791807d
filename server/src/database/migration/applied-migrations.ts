import type pg from 'pg';
import { UsageError } from '../../kernel/errors.ts';
import { type MigrationFile, numberOf } from './migration-files.ts';

interface AppliedMigration {
  name: string;
  checksum: string;
  oldest_program: string;
}

export async function makeMigrationsTable(client: pg.Client): Promise<void> {
  await client.query(
    `create table if not exists migrations (
       name text primary key,
       checksum text not null,
       -- A program is named by the number of its newest migration. No older one than this may run.
       oldest_program text not null,
       ran_at timestamptz not null default now()
     )`,
  );
}

/** The first migration of each database from before 1.0.0. */
const FIRST_BEFORE_1_0 = '0001_clock.sql';
const LAST_COMMIT_BEFORE_1_0 = 'b8ecca28abc3';

/**
 * Compares the files with the database.
 * @throws UsageError when the database is from before 1.0.0, a newer program has migrated it, or an
 *   applied file changed
 */
export async function readSchemaState(client: pg.Client, files: readonly MigrationFile[]) {
  const applied = await readApplied(client);
  refuseNewerSchema(files, applied);
  refuseChangedFiles(files, applied);
  const names = new Set(applied.map(({ name }) => name));
  return { isNew: applied.length === 0, pending: files.filter(({ name }) => !names.has(name)) };
}

/** No rows if the database has no table `migrations`. */
async function readApplied(client: pg.Client): Promise<AppliedMigration[]> {
  const { rows: tables } = await client.query<{ present: boolean }>(
    `select to_regclass('migrations') is not null as present`,
  );
  if (!tables[0]?.present) return [];
  const { rowCount } = await client.query('select from migrations where name = $1', [
    FIRST_BEFORE_1_0,
  ]);
  if (rowCount) {
    throw new UsageError(
      'the database is from before version 1.0.0, and no 1.x can use it. Run the last commit ' +
        `that opens it, ${LAST_COMMIT_BEFORE_1_0}, or start with a new database: another ` +
        'DATABASE_URL, or another DATA_DIR for the embedded one.',
    );
  }
  const { rows } = await client.query<AppliedMigration>(
    'select name, checksum, oldest_program from migrations',
  );
  return rows;
}

/** @throws UsageError if an applied migration, which this program lacks, needs a newer program */
function refuseNewerSchema(files: readonly MigrationFile[], applied: AppliedMigration[]): void {
  const own = new Set(files.map(({ name }) => name));
  const program = numberOf(files.at(-1)?.name ?? '0000');
  const wrong = applied
    .filter(({ name }) => !own.has(name))
    .find(({ oldest_program: oldest }) => oldest > program);
  if (!wrong) return;
  throw new UsageError(
    `a newer version has migrated the database (${wrong.name}). The oldest program that works on ` +
      `it is ${wrong.oldest_program}; this one is ${program}. Run the newer version.`,
  );
}

function refuseChangedFiles(files: readonly MigrationFile[], applied: AppliedMigration[]): void {
  const checksums = new Map(applied.map((row) => [row.name, row.checksum]));
  const changed = files.filter(
    (file) => (checksums.get(file.name) ?? file.checksum) !== file.checksum,
  );
  if (changed.length === 0) return;
  const names = changed.map(({ name }) => name).join(', ');
  throw new UsageError(
    `migrations changed after they had run: ${names}. Restore the files as they were released, ` +
      'and make the change in a new migration.',
  );
}

export async function recordApplied(client: pg.Client, file: MigrationFile): Promise<void> {
  await client.query(
    'insert into migrations (name, checksum, oldest_program) values ($1, $2, $3)',
    [file.name, file.checksum, file.oldestProgram],
  );
}
