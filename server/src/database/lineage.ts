import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isDiskFull } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import {
  command,
  type Database,
  isDatabaseUnavailable,
  namedStatement,
  queryValue,
  type Statement,
  statement,
  type Transaction,
} from './database.ts';

// Notices a database that may have forgotten commits, after a restore or a fail-over, and begins a
// recovery: workers claim no tasks until an operator ends it (decisions/0019). Workers advance a
// mark in the database and remember it in a file: the database's must never be older.

/** How far the database has advanced. A process remembers it to notice an older database. */
export interface Mark {
  /** Renewed by `framewright restored`: marks of earlier epochs prove nothing. */
  epoch: string;
  /** Grows with each call of {@link advanceMark}. */
  beat: number;
}

export interface LineageDeps {
  /** Whether a promoted replica has every commit. */
  trustsPromotion: boolean;
  /** A database without tasks is new, and has lost nothing. */
  hasTasks(tx: Transaction): Promise<boolean>;
}

/** A condition: no recovery is under way. */
export const NO_RECOVERY = 'not exists (select from recoveries where ended_at is null)';

const SYSTEM = '(select system_identifier::text from pg_control_system())';
const TIMELINE = 'left(pg_walfile_name(pg_current_wal_lsn()), 8)';
const TABLE = `'database_marks'::regclass::oid::text`;

/** Which server runs the database. A value is null when this server does not reveal it. */
interface Lineage {
  systemIdentifier: string | null;
  /** Changes when a replica is promoted, and after a restore to a point in time. */
  timeline: string | null;
  /** Changes when a dump is restored. */
  tableOid: string | null;
}

const LINEAGE = statement(
  'lineage',
  `select ${SYSTEM} as "systemIdentifier", ${TIMELINE} as timeline, ${TABLE} as "tableOid"`,
);
const LINEAGE_VALUES = [
  statement('lineage_system', `select ${SYSTEM} as "systemIdentifier"`),
  statement('lineage_timeline', `select ${TIMELINE} as timeline`),
  statement('lineage_table', `select ${TABLE} as "tableOid"`),
];

const LOCK = statement(
  'mark_lock',
  `select epoch::text as epoch, retired_epochs::text[] as retired_epochs, beat, system_identifier,
     timeline, table_oid, not (${NO_RECOVERY}) as recovering
   from database_marks for update`,
);

interface MarkRow extends Mark {
  retired_epochs: string[];
  system_identifier: string | null;
  timeline: string | null;
  table_oid: string | null;
  recovering: boolean;
}

const ADVANCE = namedStatement(
  'mark_advance',
  `update database_marks set beat = beat + 1, system_identifier = :systemIdentifier,
     timeline = :timeline, table_oid = :tableOid
   returning epoch::text as epoch, beat`,
);

// If it changes no row, `advanceMark` looks for the difference in a transaction.
const ADVANCE_UNCHANGED = namedStatement(
  'mark_advance_unchanged',
  `update database_marks set beat = beat + 1
   where epoch::text = :epoch and beat >= :beat and ${NO_RECOVERY}
     and system_identifier is not distinct from :systemIdentifier
     and timeline is not distinct from :timeline and table_oid is not distinct from :tableOid
   returning epoch::text as epoch, beat`,
);

const renewEpoch = command(
  'mark_renew_epoch',
  `update database_marks set retired_epochs = retired_epochs || epoch, epoch = gen_random_uuid()`,
);

const endAll = command(
  'recovery_end',
  'update recoveries set ended_at = clock_now() where ended_at is null',
);

/** How long a recovery has been under way; undefined: none is. */
export const recoverySeconds = queryValue<[], number | undefined>(
  'recovery_seconds',
  'select extract(epoch from clock_now() - began_at)::float8 from recoveries where ended_at is null',
  undefined,
);

/**
 * A condition: no recovery has begun since this time, so nothing written since is lost. @param at
 * SQL
 */
export const NOTHING_LOST_SINCE = (at: string) =>
  `not exists (select from recoveries where began_at > ${at})`;

/** When the recovery that is under way began, in SQL. */
export const RECOVERY_BEGAN = '(select began_at from recoveries where ended_at is null)';

/**
 * Advances the database's mark. If the database is older than this process remembers, or runs on
 * another server than before, begins a recovery: nothing is claimed until an operator has run
 * `framewright restored`.
 * @param known what this process remembers; undefined: nothing
 * @returns the new mark; or the cause of the recovery, `undefined` if it began earlier
 */
export async function advanceMark(
  db: Database,
  known: Mark | undefined,
  { trustsPromotion, hasTasks }: LineageDeps,
): Promise<{ mark: Mark } | { recovering: true; cause: string | undefined }> {
  const lineage = await readLineage(db);
  const [mark] = known
    ? await db.query<Mark>(ADVANCE_UNCHANGED, ADVANCE_UNCHANGED.values({ ...known, ...lineage }))
    : [];
  if (mark) return { mark };
  return db.transaction(async (tx) => {
    const [row] = await tx.query<MarkRow>(LOCK);
    if (!row) throw new Error('database_marks has no row');
    if (row.recovering) return { recovering: true, cause: undefined };
    const cause =
      isOlder(row, known) && (await hasTasks(tx))
        ? 'the database is older than a worker remembers'
        : causeOfMove(row, lineage, trustsPromotion);
    if (cause !== undefined) {
      await beginRecovery(tx, cause);
      return { recovering: true, cause };
    }
    return { mark: await store(tx, lineage) };
  });
}

export const beginRecovery = command<[cause: string], Transaction>(
  'recovery_begin',
  'insert into recoveries (cause) values ($1) on conflict do nothing',
);

/** Ends the recovery. The database is right as it is now, whatever processes remember. */
export async function endRecovery(tx: Transaction, lineage: Lineage): Promise<void> {
  await renewEpoch(tx);
  await store(tx, lineage);
  await endAll(tx);
}

async function store(tx: Transaction, lineage: Lineage): Promise<Mark> {
  const [mark] = await tx.query<Mark>(ADVANCE, ADVANCE.values({ ...lineage }));
  if (!mark) throw new Error('database_marks has no row');
  return mark;
}

function isOlder(row: MarkRow, known: Mark | undefined): boolean {
  if (known === undefined) return false;
  if (row.retired_epochs.includes(known.epoch)) return false;
  return row.epoch !== known.epoch || row.beat < known.beat;
}

function causeOfMove(row: MarkRow, now: Lineage, trustsPromotion: boolean): string | undefined {
  const differs = (before: string | null, value: string | null) =>
    before !== null && value !== null && before !== value;
  if (differs(row.system_identifier, now.systemIdentifier))
    return 'another server runs the database';
  if (differs(row.table_oid, now.tableOid)) return 'the database was restored from a dump';
  if (!trustsPromotion && differs(row.timeline, now.timeline)) {
    return 'a replica was promoted, or the database was restored to a point in time';
  }
  return undefined;
}

export async function readLineage(db: Database): Promise<Lineage> {
  const read = async <Row extends Partial<Lineage>>(sql: Statement) => {
    try {
      return (await db.query<Row>(sql))[0];
    } catch (error) {
      if (isDatabaseUnavailable(error)) throw error;
      return undefined; // this server has no such function, or forbids it
    }
  };
  const all = await read<Lineage>(LINEAGE);
  if (all) return all;
  const known = await Promise.all(LINEAGE_VALUES.map((sql) => read(sql)));
  return Object.assign({ systemIdentifier: null, timeline: null, tableOid: null }, ...known);
}

/**
 * Returns a function that compares the database with the mark in the data folder's
 * `database-mark.json`, which a restore of the database leaves alone, and then updates that mark.
 * While the disk is full, the file keeps an older mark, which is still true.
 */
export function followDatabaseMark(
  deps: LineageDeps & { db: Database; log: Log; dataDir: string },
): () => Promise<void> {
  const { db, log, dataDir } = deps;
  const file = path.join(dataDir, 'database-mark.json');
  let known: Mark | undefined;
  let wasRecovering = false;
  return async () => {
    known ??= await readMark(file);
    const result = await advanceMark(db, known, deps);
    if ('recovering' in result) {
      if (!wasRecovering) {
        const text = 'nothing is claimed: the database may have lost commits. ';
        log.error({ cause: result.cause }, `${text}Run "framewright restored"`);
      }
      wasRecovering = true;
      return;
    }
    if (wasRecovering) log.info('the recovery has ended: tasks are claimed again');
    wasRecovering = false;
    known = result.mark;
    await writeMark(file, known).catch((error) => {
      if (!isDiskFull(error)) throw error;
      log.warn({ err: error }, 'the disk is full: the database mark will be written later');
    });
  };
}

/** @returns undefined when there is no file, or only part of one */
async function readMark(file: string): Promise<Mark | undefined> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  try {
    const { epoch, beat } = JSON.parse(text);
    return typeof epoch === 'string' && typeof beat === 'number' ? { epoch, beat } : undefined;
  } catch {
    return undefined;
  }
}

async function writeMark(file: string, mark: Mark): Promise<void> {
  const unfinished = `${file}.${process.pid}`;
  await writeFile(unfinished, JSON.stringify(mark), { flush: true });
  await rename(unfinished, file);
}
