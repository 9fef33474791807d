/// <reference path="./pgpass.d.ts" />
import pg from 'pg';
import pgpass from 'pgpass';

// Each connection without a password in its URL rereads the password file, so that a password can
// be replaced without a restart. pg 9 no longer reads the file by itself.
pg.defaults.password = (connection?: Parameters<typeof pgpass>[0]) =>
  new Promise<string>((resolve) => {
    if (connection) pgpass(connection, (password = '') => resolve(password));
    else resolve('');
  });

const CONNECT_SECONDS = 3;
/** The server's limit on a statement, unless the caller sets another one. */
export const STATEMENT_SECONDS = 3;
/** The client waits this much longer than the server's limit, and gives up only on silence. */
export const MARGIN_SECONDS = 1;
/** The server ends a transaction whose client sends nothing for this long, to free its locks. */
const IDLE_IN_TRANSACTION_SECONDS = 5;
/** A closing connection is destroyed if the server does not close it. */
const CLOSE_SECONDS = 1;

const types = new pg.TypeOverrides();
// bigint: credits and sizes stay far below 2^53, so JavaScript numbers are exact.
types.setTypeParser(pg.types.builtins.INT8, Number);

/**
 * How statements are sent through a transaction pooler: prepared by name, which PgBouncer supports
 * from 1.21 on, or parsed each time.
 */
export type PoolerStatements = 'named' | 'unnamed';

export interface ConnectionSettings extends pg.ClientConfig {
  /** Through a transaction pooler, each transaction may run in another session. */
  isPooled?: boolean;
}

/** A connection with time limits for connecting and closing: a server may just vanish. */
export class Connection extends pg.Client {
  constructor({ isPooled = false, ...config }: ConnectionSettings = {}) {
    const idle = IDLE_IN_TRANSACTION_SECONDS * 1000;
    super({
      ...config,
      types,
      connectionTimeoutMillis: CONNECT_SECONDS * 1000,
      // Sent in the startup packet: a pooler would refuse the connection because of it.
      ...(isPooled ? {} : { idle_in_transaction_session_timeout: idle }),
      keepAlive: true,
      keepAliveInitialDelayMillis: 5000,
    });
    // Without a listener, an error of the connection would end the process.
    this.on('error', () => {});
  }

  override end(): Promise<void>;
  override end(callback: (error: Error) => void): void;
  override end(callback?: (error: Error) => void): Promise<void> | undefined {
    const timer = setTimeout(() => this.connection.stream.destroy(), CLOSE_SECONDS * 1000);
    this.once('end', () => clearTimeout(timer));
    if (callback === undefined) return super.end().finally(() => clearTimeout(timer));
    super.end((error) => {
      clearTimeout(timer);
      callback(error);
    });
  }
}

/**
 * A commit is on disk, and on the synchronous replicas, before it is reported; `remote_apply` waits
 * even longer. The compare-and-set of a task needs `read committed`. The keep-alive lets the server
 * close the connections of a vanished client.
 */
const SESSION = `select
  set_config('synchronous_commit', case current_setting('synchronous_commit')
    when 'remote_apply' then 'remote_apply' else 'on' end, false),
  set_config('default_transaction_isolation', 'read committed', false),
  set_config('tcp_keepalives_idle', '10', false),
  set_config('tcp_keepalives_interval', '5', false),
  set_config('tcp_keepalives_count', '3', false)`;

/**
 * Applies the settings of a new connection. Through a pooler they would leak to the next client, so
 * it gets an empty statement: only its response proves that Postgres is up, since a pooler accepts
 * connections even while Postgres is down.
 */
export async function prepareConnection(
  client: pg.Client,
  { isPooled, connectionString }: ConnectionSettings,
): Promise<void> {
  const text = isPooled ? 'select' : `${SESSION}, ${searchPath(connectionString)}`;
  await withinSeconds(CONNECT_SECONDS, client, client.query(text));
}

/**
 * SQL that makes `public` the only schema: another one in the search path may have tables with our
 * names. A URL that sets a search path (`options=-c search_path=...`) keeps it.
 */
export function searchPath(url = ''): string {
  const options = URL.parse(url)?.searchParams.get('options') ?? '';
  return options.includes('search_path') ? 'null' : `set_config('search_path', 'public', false)`;
}

/** No response in time. The statement may have taken effect, or may still do so. */
export class NoResponse extends Error {
  override name = 'NoResponse';
}

/**
 * Destroys the connection if the response does not come in time: a late one must not be read as
 * the response to another statement.
 * @throws NoResponse
 */
export async function withinSeconds<T>(
  seconds: number,
  client: Pick<pg.Client, 'connection'>,
  response: Promise<T>,
): Promise<T> {
  let late: NoResponse | undefined;
  const giveUp = () => {
    late = new NoResponse(`the database did not respond within ${seconds} s`);
    client.connection.stream.destroy(late);
  };
  // A process that was suspended gets 50 ms to read what has arrived in the meantime.
  let timer = setTimeout(() => {
    timer = setTimeout(giveUp, 50);
  }, seconds * 1000);
  try {
    return await response;
  } catch (failure) {
    throw late ?? failure;
  } finally {
    clearTimeout(timer);
  }
}
