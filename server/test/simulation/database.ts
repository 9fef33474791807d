import {
  type Database,
  openDatabase,
  type Queryable,
  statement,
  type Transaction,
  together,
} from '../../src/database/database.ts';
import { createTestDatabase, quiet } from '../database.ts';
import { ConnectionLost, type Process } from './scheduler/process.ts';
import { describe, type Trace } from './scheduler/trace.ts';

export const START_SECONDS = Date.UTC(2030, 0, 1) / 1000;

const OWN_CLOCK = statement(
  '',
  `create or replace function clock_now() returns timestamptz language sql volatile
   as $$ select to_timestamp(current_setting('simulation.now')::float8) $$`,
);
const SET_CLOCK = statement('simulation_clock', `select set_config('simulation.now', $1, false)`);
// Without triggers, since the ledger's trigger refuses deletions. `truncate` takes 20 times longer.
const DELETIONS = statement(
  'simulation_deletions',
  `select 'set local session_replication_role = replica; '
     || string_agg(format('delete from %I', tablename), '; ') as text
   from pg_tables
   where schemaname = 'public' and tablename not in ('migrations', 'delivery_secrets')`,
);

/** A database whose clock is the simulation's, for one history after another. */
export type SimulatedServer = Awaited<ReturnType<typeof openSimulatedServer>>;

export async function openSimulatedServer() {
  const { url, close } = await createTestDatabase();
  const db = openDatabase({ url, connections: 1, log: quiet });
  await db.query(OWN_CLOCK);
  const [deletions] = await db.query<{ text: string }>(DELETIONS);
  return {
    /** The database without faults; `nowMs` is its clock. */
    at: (nowMs: () => number) => withClock(db, nowMs),
    /** Deletes all rows. */
    clear: () =>
      db.transaction(async (tx) => {
        await tx.query(statement('', deletions?.text ?? ''));
      }),
    async close() {
      await db.close();
      await close();
    },
  };
}

/** The clock is a setting of the one connection, set by one short statement. */
function withClock(db: Database, nowMs: () => number): Database {
  let setMs = -1;
  const setClock = async (on: Queryable): Promise<void> => {
    if (setMs === nowMs()) return;
    setMs = nowMs();
    await on.query(SET_CLOCK, [String(START_SECONDS + setMs / 1000)]);
  };
  /** Within a transaction the clock's statement is pipelined with the first of the others. */
  const onTime =
    <T>(work: (tx: Transaction) => Promise<T>) =>
    async (tx: Transaction): Promise<T> => {
      try {
        const [, result] = await together(setClock(tx), work(tx));
        return result;
      } catch (error) {
        setMs = -1; // a rollback resets the clock as well
        throw error;
      }
    };
  return {
    async query(sql, values) {
      await setClock(db);
      return db.query(sql, values);
    },
    transaction: (work) => db.transaction(onTime(work)),
    snapshot: (work) => db.snapshot(onTime(work)),
    close: async () => {},
  };
}

/**
 * The database as a process of the simulation sees it: each transaction, or statement outside of
 * one, is a unit of the scheduler and may have a fault.
 */
export function databaseOf(process: Process, inner: Database, trace: Trace): Database {
  return {
    query(sql, values) {
      const label = () => describe(trace, sql.name, values);
      return process.unit({ label }, async (fault) => {
        if (fault === 'refused') throw new ConnectionLost();
        return inner.query(sql, values);
      });
    },
    transaction: (work) => {
      const done: string[] = [];
      const label = () => `[${done.join('; ')}]`;
      return process.unit({ label }, (fault) =>
        inner.transaction(async (tx) => {
          const result = await work(noting(tx, done, trace));
          if (fault === 'refused') throw new ConnectionLost(); // rolled back, as if the commit was lost
          return result;
        }),
      );
    },
    snapshot: (work) => process.unit({ label: () => 'snapshot' }, () => inner.snapshot(work)),
    close: async () => {},
  };
}

function noting(tx: Transaction, done: string[], trace: Trace): Transaction {
  const query: Queryable['query'] = (sql, values) => {
    done.push(describe(trace, sql.name, values));
    return tx.query(sql, values);
  };
  return { ...tx, query };
}
