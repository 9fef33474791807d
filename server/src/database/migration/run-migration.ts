import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { recordApplied } from './applied-migrations.ts';
import { BATCH, BUILD_INDEX, type MigrationFile, statementsOf } from './migration-files.ts';

export interface RunSettings {
  report: (text: string) => void;
  /** How long one try may wait for a lock. Requests for the same table wait behind it. */
  lockMs: number;
  /** The pause between two tries; after `patienceMs` there is no other try. */
  pauseMs: number;
  patienceMs: number;
}

/**
 * Runs one file and records it. If a lock can't be taken within `lockMs`, releases its locks, waits
 * and tries again, so that its wait blocks requests for `lockMs` at most.
 * @throws Error with the file's name; the cause is the error of Postgres
 */
export async function runMigration(
  client: pg.Client,
  file: MigrationFile,
  settings: RunSettings,
): Promise<void> {
  const { report, pauseMs, patienceMs } = settings;
  const startedAt = performance.now();
  for (let tries = 1; ; tries += 1) {
    try {
      if (file.isTransaction) return await runInTransaction(client, file, settings.lockMs);
      return await runStatements(client, file, settings);
    } catch (error) {
      const seconds = Math.round(performance.now() - startedAt) / 1000;
      if (!isLockConflict(error) || seconds * 1000 >= patienceMs) throw failure(file, error);
      const blocker = await oldestTransaction(client);
      report(`${file.name} waits for a lock (try ${tries}, ${seconds} s)${blocker}`);
    }
    await delay(pauseMs);
  }
}

async function runInTransaction(client: pg.Client, file: MigrationFile, lockMs: number) {
  await client.query('begin');
  try {
    await client.query(`set local lock_timeout = ${lockMs}`);
    await client.query(file.text);
    await recordApplied(client, file);
    await client.query('commit');
  } catch (error) {
    // The connection may be broken, so this may fail too. The first error is the one to report.
    await client.query('rollback').catch(() => {});
    throw error;
  }
}

/** Every statement may run again: a run that was interrupted is not recorded. */
async function runStatements(client: pg.Client, file: MigrationFile, settings: RunSettings) {
  for (const text of statementsOf(file)) {
    const index = BUILD_INDEX.exec(text)?.[1];
    if (index !== undefined) await buildIndex(client, { index, text, settings });
    else if (BATCH.test(text)) await repeat(client, text, settings);
    // The others take locks that no reader and no writer waits for, so they may wait without limit.
    else await client.query(text);
  }
  await recordApplied(client, file);
}

/** Builds an index, unless it is there. An invalid one comes from a run that was interrupted. */
async function buildIndex(
  client: pg.Client,
  { index, text, settings }: { index: string; text: string; settings: RunSettings },
): Promise<void> {
  const { rows } = await client.query<{ valid: boolean }>(
    'select indisvalid as valid from pg_index where indexrelid = to_regclass($1)',
    [index],
  );
  if (rows[0]?.valid) return;
  if (rows.length > 0) {
    settings.report(`drops the invalid index ${index} of an interrupted run`);
    await client.query(`drop index concurrently if exists ${index}`);
  }
  settings.report(`builds the index ${index}`);
  try {
    await client.query(text);
  } catch (error) {
    // An invalid index slows down each write, and an invalid unique index still refuses rows.
    await client.query(`drop index concurrently if exists ${index}`).catch(() => {});
    throw error;
  }
}

async function repeat(client: pg.Client, text: string, { report, lockMs }: RunSettings) {
  let rows = 0;
  await client.query(`set lock_timeout = ${lockMs}`);
  try {
    for (;;) {
      const { rowCount } = await client.query(text);
      if (!rowCount) return;
      rows += rowCount;
      report(`changed ${rows} rows so far`);
    }
  } finally {
    await client.query('set lock_timeout = 0').catch(() => {});
  }
}

/** SQLSTATE of a lock that was not available in time, and of a deadlock. */
function isLockConflict(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^(55P03|40P01)$/.test(error.code ?? '');
}

function failure({ name }: MigrationFile, error: unknown): Error {
  const cause = error instanceof Error ? error.message : String(error);
  const advice = isLockConflict(error)
    ? '. End the transactions that are open for long, then run it again'
    : '';
  return new Error(`migration ${name} failed: ${cause}${advice}`, { cause: error });
}

/** The usual cause of the wait: the transaction that has been open the longest. */
async function oldestTransaction(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ text: string }>(
    `select format('; the oldest open transaction is pid %s (%s), open for %s s', pid,
       coalesce(nullif(application_name, ''), 'no name'),
       extract(epoch from clock_timestamp() - xact_start)::int) as text
     from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null
     order by xact_start limit 1`,
  );
  return rows[0]?.text ?? '';
}
