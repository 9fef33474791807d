import pg from 'pg';
import type { Log } from '../kernel/log.ts';

/** One SQL statement, prepared once per connection under its name if it has one. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

const named = new Map<string, Statement>();

/** Names a statement. The name must be unique in the program. */
export function statement(name: string, text: string): Statement {
  const made = { name, text };
  if (name !== '') named.set(name, made);
  return made;
}

/** The named statements of the modules that were imported so far. */
export function namedStatements(): Statement[] {
  return [...named.values()];
}

/** A statement whose parameters have names. */
interface NamedStatement<Parameter extends string> extends Statement {
  /** The values in the order that the database expects. */
  values(named: Record<Parameter, unknown>): unknown[];
}

/**
 * A statement that writes its parameters as `:name` instead of `$1`. Use it from five parameters
 * on, so that no reader has to count positions.
 * @throws Error when the text uses a name that is not listed, or does not use a listed name
 */
export function namedStatement<Parameter extends string>(
  name: string,
  parameters: readonly Parameter[],
  text: string,
): NamedStatement<Parameter> {
  const listed: readonly string[] = parameters;
  const unused = new Set(listed);
  // Not after a colon: `::` is a cast.
  const positional = text.replace(/(?<!:):([a-z]\w*)/gi, (_match, parameter: string) => {
    const index = listed.indexOf(parameter);
    if (index === -1) throw new Error(`${name} has no parameter ${parameter}`);
    unused.delete(parameter);
    return `$${index + 1}`;
  });
  if (unused.size > 0) throw new Error(`${name} does not use ${[...unused].join(', ')}`);
  const values = (named: Record<Parameter, unknown>) =>
    parameters.map((parameter) => named[parameter]);
  return { ...statement(name, positional), values };
}

/** The database itself, or one open transaction: both run statements. */
export interface Queryable {
  /**
   * Runs a statement. `Row` is the shape of the statement's columns; it is not checked.
   * @throws DatabaseUnavailable, or pg's DatabaseError when Postgres refused the statement
   */
  query<Row extends object>(sql: Statement, values?: readonly unknown[]): Promise<Row[]>;
}

/**
 * An open transaction. Statements may be sent without waiting for earlier ones. They run in the
 * order in which they were sent (see {@link together}).
 */
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

const types = new pg.TypeOverrides();
// bigint: credits and sizes stay far below 2^53, so JavaScript numbers are exact.
types.setTypeParser(pg.types.builtins.INT8, Number);

/**
 * Opens a pool of connections.
 * @param url a `postgres://` address
 * @param connections how many connections may be open at a time
 */
export function openDatabase(options: { url: string; connections: number; log: Log }): Database {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.connections,
    types,
    connectionTimeoutMillis: 10_000,
    statement_timeout: 30_000,
    idle_in_transaction_session_timeout: 30_000,
    keepAlive: true,
    pipeline: true, // statements that don't wait for each other share a network round trip
  });
  // The database may stop during the close and break the last connections. This is no warning.
  let closing = false;
  pool.on('error', (error) => {
    if (!closing) options.log.warn({ err: error.message }, 'a database connection was lost');
  });
  // Without a listener, a connection that breaks while it is in use would end the process.
  pool.on('connect', (client) => client.on('error', () => broken.add(client)));
  return {
    query: (sql, values) => runAlone(pool, sql, values),
    transaction: (work) => inTransaction(pool, 'begin', work),
    snapshot: (work) => inTransaction(pool, SNAPSHOT, work),
    close: () => {
      closing = true;
      return pool.end();
    },
  };
}

// No statement timeout: an audit of a large ledger may take longer than 30 seconds.
const SNAPSHOT = 'begin isolation level repeatable read read only; set local statement_timeout = 0';

/** Connections that broke. When a statement fails on one, the statement is not the cause. */
const broken = new WeakSet<pg.PoolClient>();

/** @throws DatabaseUnavailable; DatabaseClosed after `close` */
async function connect(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw pool.ending ? new DatabaseClosed(error) : new DatabaseUnavailable(error);
  }
}

/** @throws DatabaseUnavailable when the connection broke; pg's own error otherwise */
async function run<Row extends object>(
  client: pg.PoolClient,
  { name, text }: Statement,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  try {
    const query = { name, text, values: [...values] };
    return (await client.query<Row & pg.QueryResultRow>(query)).rows;
  } catch (error) {
    if (error instanceof pg.DatabaseError || !broken.has(client)) throw error;
    throw new DatabaseUnavailable(error);
  }
}

async function runAlone<Row extends object>(
  pool: pg.Pool,
  sql: Statement,
  values?: readonly unknown[],
): Promise<Row[]> {
  const client = await connect(pool);
  let failed = false;
  try {
    return await run<Row>(client, sql, values);
  } catch (error) {
    failed = true;
    throw error;
  } finally {
    // Closes the connection after a failure, so that the next one prepares the statement again: the
    // failure may come from a migration that changed the columns that it was prepared for.
    client.release(failed);
  }
}

async function inTransaction<T>(
  pool: pg.Pool,
  begin: string,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  const client = await connect(pool);
  let failure: Error | undefined;
  try {
    await run(client, { name: '', text: begin });
    const result = await work({
      query: (sql, values) => run(client, sql, values),
      isOpen: true,
    });
    await run(client, { name: '', text: 'commit' });
    return result;
  } catch (error) {
    await client.query('rollback').catch((cause: Error) => {
      failure = cause;
    });
    throw error;
  } finally {
    client.release(failure);
  }
}

/**
 * The results of statements that were sent together in one transaction.
 * @throws the error of the first that failed; later errors only say that the transaction is aborted
 */
export async function together<Results extends unknown[]>(
  ...statements: { [Index in keyof Results]: Promise<Results[Index]> }
): Promise<Results> {
  await Promise.allSettled(statements);
  return Promise.all(statements) as Promise<Results>;
}

/** The name of the constraint or unique index that a statement violated; undefined otherwise. */
export function violatedConstraint(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError && error.code?.startsWith('23')
    ? error.constraint
    : undefined;
}

/**
 * No connection to the database could be made, or it broke. Nothing is wrong with the statement. If
 * it was sent, it may have taken effect. The `cause` is pg's error, which often has no code
 * ("Connection terminated unexpectedly", "timeout exceeded when trying to connect").
 */
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

/** Node's error for a host with several addresses has a code, but no message. */
function textOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  return cause.message || ('code' in cause ? String(cause.code) : cause.name);
}

/** SQLSTATE classes: connection exception, no resources, operator intervention, rollback. */
const UNAVAILABLE_STATES = /^(08|53|57|40)/;
/** For errors of the queue's own pool (pg-boss): they are not wrapped in DatabaseUnavailable. */
const NETWORK_CODES = /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)/;

/** Whether the same work may succeed later: the database was unavailable or aborted it. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return true;
  if (!(error instanceof Error) || !('code' in error)) return false;
  const codes = error instanceof pg.DatabaseError ? UNAVAILABLE_STATES : NETWORK_CODES;
  return codes.test(String(error.code));
}
