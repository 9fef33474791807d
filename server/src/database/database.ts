// The room database/: connections, transactions, statements and migrations. A statement that can't
// get a response fails fast with DatabaseUnavailable (decisions/0013); shared-work.ts batches
// statements.

import pg from 'pg';
import type { Log } from '../kernel/log.ts';
import { report, secondsSince } from '../telemetry/reports.ts';
import {
  MARGIN_SECONDS,
  NoResponse,
  type PoolerStatements,
  STATEMENT_SECONDS,
  withinSeconds,
} from './connection.ts';
import { type ConnectionPool, type LentConnection, openPool, textOf } from './pool.ts';

/** One SQL statement, prepared once per connection under its name if it has one. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

const statementsByName = new Map<string, Statement>();

/**
 * Makes a statement. Its name must be unique in the program; '' is not prepared. Batched statements
 * join a table to the arguments by id and repeat the ids as `id = any($1)`: with it the planner
 * reads the rows by index even if it expects many arguments.
 */
export function statement(name: string, text: string): Statement {
  const made = { name, text };
  if (name !== '') statementsByName.set(name, made);
  return made;
}

export function namedStatements(): Statement[] {
  return [...statementsByName.values()];
}

type Characters<Text> = Text extends `${infer First}${infer Rest}`
  ? First | Characters<Rest>
  : never;
type Letter = Characters<'abcdefghijklmnopqrstuvwxyz'>;
type InName = Letter | Uppercase<Letter> | Characters<'_0123456789'>;
type NameAt<Text, Name extends string = ''> = Text extends `${infer First}${infer Rest}`
  ? First extends InName
    ? NameAt<Rest, `${Name}${First}`>
    : Name
  : Name;

/** The names after single colons in a text; a double colon is a cast. */
type ParametersOf<Text, Found = never> = Text extends `${string}:${infer Rest}`
  ? Rest extends `:${infer Cast}`
    ? ParametersOf<Cast, Found>
    : ParametersOf<Rest, Found | Exclude<NameAt<Rest>, ''>>
  : Found;

/** A statement with named parameters such as `:name`. The type checks that all are given. */
export function namedStatement<const Text extends string>(name: string, text: Text) {
  const names = new Set<string>();
  const positional = text.replace(/(?<!:):([a-z]\w*)/gi, (_match, parameter: string) => {
    return `$${[...names.add(parameter)].indexOf(parameter) + 1}`;
  });
  /** The values in the order that the database expects. */
  const values = (given: Record<ParametersOf<Text>, unknown>): unknown[] =>
    Array.from(names, (parameter) => {
      if (parameter in given) return (given as Record<string, unknown>)[parameter];
      throw new Error(`${name} needs a value for ${parameter}`);
    });
  return { ...statement(name, positional), values };
}

export interface Queryable {
  /**
   * Runs a statement. `Row` is the shape of the statement's columns; it is not checked.
   * @throws DatabaseUnavailable, or pg's DatabaseError when Postgres refused the statement
   */
  query<Row extends object>(sql: Statement, values?: readonly unknown[]): Promise<Row[]>;
}

/** An open transaction. Its statements need not wait for each other (see {@link together}). */
export interface Transaction extends Queryable {
  /** Type brand: a {@link Database} is not a Transaction. */
  readonly isOpen: true;
}

export interface Database extends Queryable {
  /** Runs `work` in one transaction: commits when it returns, rolls back when it throws. */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  /** Runs `work` in one read-only transaction whose statements all see the same snapshot. */
  snapshot<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/**
 * Opens a pool of connections. When the database does not respond, work soon fails with
 * {@link DatabaseUnavailable}.
 * @param options.statementSeconds how long a statement may take, except in a snapshot
 * @param options.pooler undefined: the address is Postgres itself. Sessions behind a pooler must
 *   have the settings that {@link requireSessionSettings} checks
 */
export function openDatabase(options: {
  url: string;
  connections: number;
  log: Log;
  statementSeconds?: number;
  pooler?: PoolerStatements | undefined;
}): Database {
  const { url, connections, log, statementSeconds = STATEMENT_SECONDS, pooler } = options;
  const settings = {
    connectionString: url,
    ...(pooler ? { isPooled: true } : { statement_timeout: statementSeconds * 1000 }),
    pipeline: true, // statements that don't wait for each other share a network round trip
  };
  const onBroken = (client: object) => broken.add(client);
  const pool = openPool({ settings, connections, log, pooler, onBroken });
  const seconds = statementSeconds + MARGIN_SECONDS;
  return {
    query: (sql, values) =>
      withConnection(pool, seconds, 'query', (session) => run(session, sql, values)),
    transaction: (work) => inTransaction(pool, seconds, 'begin', work),
    snapshot: (work) => inTransaction(pool, undefined, SNAPSHOT, work),
    close: () => pool.close(),
  };
}

// No timeouts: an audit of a large ledger may take longer, and it computes between statements.
const SNAPSHOT = `begin isolation level repeatable read read only; set local statement_timeout = 0;
  set local idle_in_transaction_session_timeout = 0`;

/** Connections that broke. A statement that fails on one of them is not at fault. */
const broken = new WeakSet<object>();

/** A connection, and how long its statements wait for their responses; undefined: forever. */
interface Session {
  pool: ConnectionPool;
  client: LentConnection;
  seconds: number | undefined;
  hasRefusedStatement: boolean;
}

/** @throws DatabaseUnavailable; DatabaseClosed after `close` */
async function withConnection<T>(
  pool: ConnectionPool,
  seconds: number | undefined,
  part: 'query' | 'transaction',
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const askedAt = performance.now();
  const client = await pool.connect().catch((error: unknown) => {
    throw pool.isClosed ? new DatabaseClosed(error) : new DatabaseUnavailable(error);
  });
  report('database', { part: 'wait', seconds: secondsSince(askedAt) });
  const startedAt = performance.now();
  const session = { pool, client, seconds, hasRefusedStatement: false };
  let closes = false;
  try {
    return await work(session);
  } catch (error) {
    closes = closesConnection(error);
    throw error;
  } finally {
    // On `hasRefusedStatement`, see `send`.
    client.release(closes || (session.hasRefusedStatement && pool.pooler === 'named'));
    report('database', { part, seconds: secondsSince(startedAt) });
  }
}

/**
 * Every error of Postgres but a violated constraint (SQLSTATE 23...) closes the connection: the
 * server may have become a read-only standby, or a migration may have changed a prepared statement.
 */
function closesConnection(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return true;
  return error instanceof pg.DatabaseError && !error.code?.startsWith('23');
}

async function send<Row extends object>(
  session: Session,
  { name, text }: Statement,
  values: readonly unknown[] = [],
): Promise<pg.QueryResult<Row & pg.QueryResultRow>> {
  const { pool, client, seconds } = session;
  writeTogether(client);
  const sent = client.query<Row & pg.QueryResultRow>({
    name: pool.pooler === 'unnamed' ? '' : name,
    text,
    values: [...values],
  });
  try {
    return seconds === undefined ? await sent : await withinSeconds(seconds, client, sent);
  } catch (error) {
    // PgBouncer keeps the names of statements that were parsed in an aborted transaction. The next
    // use of such a name fails (https://github.com/pgbouncer/pgbouncer/issues/1118).
    session.hasRefusedStatement ||= error instanceof pg.DatabaseError;
    if (error instanceof NoResponse) pool.distrust();
    else if (error instanceof pg.DatabaseError || !broken.has(client)) throw error;
    throw new DatabaseUnavailable(error);
  }
}

/** Writes the statements of one tick to the connection in a single system call. */
function writeTogether({ connection: { stream } }: LentConnection): void {
  stream.cork();
  process.nextTick(() => stream.uncork());
}

async function run<Row extends object>(
  session: Session,
  sql: Statement,
  values?: readonly unknown[],
): Promise<Row[]> {
  return (await send<Row>(session, sql, values)).rows;
}

function inTransaction<T>(
  pool: ConnectionPool,
  seconds: number | undefined,
  begin: string,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  return withConnection(pool, seconds, 'transaction', async (session) => {
    try {
      await send(session, { name: '', text: begin });
      const query: Transaction['query'] = (sql, values) => run(session, sql, values);
      const result = await work({ query, isOpen: true });
      await commit(session);
      return result;
    } catch (error) {
      await send(session, { name: '', text: 'rollback' }).catch(() => {});
      throw error;
    }
  });
}

/** @throws Error when Postgres rolled back, because the work ignored that a statement had failed */
async function commit(session: Session): Promise<void> {
  const { command } = await send(session, { name: '', text: 'commit' });
  if (command === 'COMMIT') return;
  throw new Error('the transaction was rolled back: one of its statements had failed');
}

export async function first<Row extends object>(
  db: Queryable,
  sql: Statement,
  values?: readonly unknown[],
): Promise<Row | undefined> {
  return (await db.query<Row>(sql, values))[0];
}

/**
 * A function that runs one statement, with its arguments as the parameters, and returns the rows.
 * `On` is `Transaction` for statements that only make sense within one.
 */
export function query<Args extends unknown[], Row extends object, On extends Queryable = Queryable>(
  name: string,
  text: string,
) {
  const made = statement(name, text);
  return (db: On, ...args: Args): Promise<Row[]> => db.query<Row>(made, args);
}

/** Like {@link query}, but returns the first row, or undefined if there is none. */
export function queryFirst<
  Args extends unknown[],
  Row extends object,
  On extends Queryable = Queryable,
>(name: string, text: string) {
  const made = statement(name, text);
  return (db: On, ...args: Args): Promise<Row | undefined> => first<Row>(db, made, args);
}

/** Like {@link query}, but returns the values of the only column. */
export function queryColumn<Args extends unknown[], Value, On extends Queryable = Queryable>(
  name: string,
  text: string,
) {
  const made = statement(name, text);
  return async (db: On, ...args: Args): Promise<Value[]> =>
    (await db.query<Record<string, Value>>(made, args)).flatMap((row) => Object.values(row));
}

/** Like {@link query}, but returns the first value; `otherwise` if it is missing or null. */
export function queryValue<Args extends unknown[], Value, On extends Queryable = Queryable>(
  name: string,
  text: string,
  otherwise: Value,
) {
  const read = queryColumn<Args, Value, On>(name, text);
  return async (db: On, ...args: Args): Promise<Value> => (await read(db, ...args))[0] ?? otherwise;
}

/** Like {@link query}, but returns whether there is a row. */
export function whether<Args extends unknown[], On extends Queryable = Queryable>(
  name: string,
  text: string,
) {
  const made = statement(name, text);
  return async (db: On, ...args: Args): Promise<boolean> => (await db.query(made, args)).length > 0;
}

/** Like {@link query}, for a statement that returns nothing. */
export function command<Args extends unknown[], On extends Queryable = Queryable>(
  name: string,
  text: string,
) {
  const made = statement(name, text);
  return async (db: On, ...args: Args): Promise<void> => void (await db.query(made, args));
}

/**
 * Waits for all of the work, such as statements of one transaction. @returns the results
 * @throws the first error in the list; in a transaction, the later ones only say that it is aborted
 */
export async function together<Results extends unknown[]>(
  ...begun: { [Index in keyof Results]: Promise<Results[Index]> }
): Promise<Results> {
  await Promise.allSettled(begun);
  return Promise.all(begun) as Promise<Results>;
}

export function violatedConstraint(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError && error.code?.startsWith('23')
    ? error.constraint
    : undefined;
}

/** No connection could be made, or it broke. A statement that was sent may have taken effect. */
export class DatabaseUnavailable extends Error {
  override name = 'DatabaseUnavailable';

  constructor(cause: unknown) {
    super(`the database is unavailable: ${textOf(cause)}`, { cause });
  }
}

/** This process has closed its pool, so a retry can't succeed. */
export class DatabaseClosed extends DatabaseUnavailable {
  override name = 'DatabaseClosed';
}

/**
 * SQLSTATE: connection exceptions, no resources, operator intervention, rollbacks, a read-only
 * standby, and a transaction that waited too long.
 */
const UNAVAILABLE_STATES = /^(08|53|57|40|25006|25P03|25P04)/;

/** Whether the same work may succeed later: the database was unavailable or aborted it. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return true;
  return error instanceof pg.DatabaseError && UNAVAILABLE_STATES.test(String(error.code));
}
