import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Log } from '../kernel/log.ts';
import {
  Connection,
  type ConnectionSettings,
  NoResponse,
  type PoolerStatements,
  prepareConnection,
} from './connection.ts';

/** How long work waits for a connection when all are in use. */
const WAIT_SECONDS = 8;
/** Long: a new connection costs the server a process that rereads the catalogue and replans. */
const IDLE_SECONDS = 300;
/** How much work may wait for a connection (decisions/0013). */
const MAX_WAITING = 5000;

/** `release(true)` closes it. */
export type LentConnection = Connection & Pick<pg.PoolClient, 'release'>;

export type ConnectionPool = ReturnType<typeof openPool>;

/** @param options.onBroken called for each connection that breaks while it is in use */
export function openPool(options: {
  settings: ConnectionSettings;
  connections: number;
  log: Log;
  pooler: PoolerStatements | undefined;
  onBroken(client: object): void;
}) {
  const { settings, connections, log, pooler } = options;
  const pool = new pg.Pool({
    ...settings,
    Client: Connection,
    max: connections,
    connectionTimeoutMillis: WAIT_SECONDS * 1000,
    idleTimeoutMillis: IDLE_SECONDS * 1000,
    // The pool awaits this, though its type does not say so.
    onConnect: (client) => prepareConnection(client as Connection, settings),
  });
  const idle = new Set<Connection>();
  const distrusted = new WeakSet<object>();
  // The database may stop during the close and break the last connections: not worth a warning.
  let isClosed = false;
  pool.on('error', (error, client) => {
    if (isClosed || distrusted.has(client)) return;
    log.warn({ err: error.message }, 'a database connection was lost');
  });
  pool.on('connect', (client) => client.on('error', () => options.onBroken(client)));
  pool.on('acquire', (client) => idle.delete(client));
  pool.on('release', (_error, client) => idle.add(client));
  pool.on('remove', (client) => idle.delete(client));
  const breaker = createCircuitBreaker({ attempt: () => attempt(settings), log });
  const distrust = () => {
    for (const client of idle) {
      distrusted.add(client);
      client.connection.stream.destroy(new NoResponse('another connection got no response'));
    }
    idle.clear();
    breaker.probe();
  };
  return {
    pooler,
    get isClosed() {
      return isClosed;
    },
    /** @throws pg's error or {@link NoResponse} when no connection is available now */
    async connect() {
      breaker.check();
      if (pool.waitingCount >= MAX_WAITING) throw new Error('too much work waits for a connection');
      const lending = pool.connect();
      try {
        return (await breaker.failFast(lending)) as LentConnection;
      } catch (error) {
        // The pool may still lend a connection. It is closed, because nobody waits for it now.
        lending.then((client) => client.release(true)).catch(() => {});
        if (!(error instanceof pg.DatabaseError) && !isClosed) breaker.probe();
        throw error;
      }
    },
    /** Closes the idle connections, because the server did not respond on another one. */
    distrust,
    close() {
      isClosed = true;
      breaker.stop();
      return pool.end();
    },
  };
}

/** @throws when the server does not respond. An error that it sends is a response. */
async function attempt(settings: ConnectionSettings): Promise<void> {
  const client = new Connection(settings);
  try {
    await client.connect();
    await prepareConnection(client, settings);
  } catch (error) {
    // A pooler sends an error of class 08 (connection exception) while it can't reach the server.
    if (!(error instanceof pg.DatabaseError) || error.code?.startsWith('08')) throw error;
  } finally {
    await client.end();
  }
}

const TRY_SECONDS = 0.25;

/**
 * During an outage work fails at once, and one connection at a time probes the server until it
 * responds again.
 */
export function createCircuitBreaker({ attempt, log }: { attempt(): Promise<void>; log: Log }) {
  const waiting = new Set<(cause: unknown) => void>();
  /** Why the last probe failed; undefined: there is no outage. */
  let cause: unknown;
  let isTrying = false;
  let isStopped = false;

  const recordFailure = (failure: unknown) => {
    if (cause === undefined) log.error({ err: textOf(failure) }, 'the database does not respond');
    cause = failure;
    for (const reject of waiting) reject(failure);
    waiting.clear();
  };
  const tryUntilItResponds = async () => {
    const startedAt = performance.now();
    while (!isStopped) {
      const failure = await attempt().then(
        () => undefined,
        (error: unknown) => error ?? new Error('the database does not respond'),
      );
      if (failure === undefined) break;
      recordFailure(failure);
      await delay(TRY_SECONDS * 1000, undefined, { ref: false });
    }
    if (cause === undefined) return;
    cause = undefined;
    const seconds = (performance.now() - startedAt) / 1000;
    if (!isStopped) log.info({ seconds }, 'the database responds again');
  };
  return {
    /** Probes the server, because a connection failed or a response did not come. */
    probe() {
      if (isTrying || isStopped) return;
      isTrying = true;
      void tryUntilItResponds().finally(() => {
        isTrying = false;
      });
    },
    /** @throws the cause of the outage, if there is one */
    check() {
      if (cause !== undefined) throw cause;
    },
    /** Waits for the work, unless an outage begins. @throws the cause of the outage */
    failFast<T>(work: Promise<T>): Promise<T> {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      waiting.add(reject);
      work.then(resolve, reject).finally(() => waiting.delete(reject));
      return promise;
    },
    stop() {
      isStopped = true;
    },
  };
}

/** Node's error for a host with several addresses has a code, but no message. */
export function textOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  return cause.message || ('code' in cause ? String(cause.code) : cause.name);
}
