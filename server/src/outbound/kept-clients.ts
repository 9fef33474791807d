import type { LookupFunction } from 'node:net';
import { Client } from 'undici';

/** The largest response headers that are accepted. */
export const HEADERS_BYTES = 16 * 1024;
/** How long an idle connection stays open. Its host may announce an earlier close. */
const KEPT_SECONDS = 20;
/** How many idle connections one process keeps for one use. */
const MAX_IDLE = 64;

/** A pool of connections that stay open between requests. Each is lent to one request at a time. */
export type KeptClients = ReturnType<typeof keepClients>;

/**
 * A connection that may be kept, opened with its first request. The caller limits the time from the
 * connection to the end of the response's headers.
 */
export function openClient(
  { origin }: URL,
  { connectSeconds, idleSeconds = 0, connect }: ConnectionRules,
): Client {
  return new Client(origin, {
    allowH2: false,
    maxHeaderSize: HEADERS_BYTES,
    connectTimeout: connectSeconds * 1000,
    headersTimeout: 0,
    bodyTimeout: idleSeconds * 1000,
    maxCachedSessions: 0,
    keepAliveTimeout: KEPT_SECONDS * 1000,
    keepAliveMaxTimeout: KEPT_SECONDS * 1000,
    connect: { ...connect, rejectUnauthorized: true }, // also if NODE_TLS_REJECT_UNAUTHORIZED is 0
  });
}

interface ConnectionRules {
  connectSeconds: number;
  /** The longest pause within a body; unlimited if not given. */
  idleSeconds?: number;
  connect: { ca?: string | undefined; lookup?: LookupFunction; autoSelectFamily?: boolean };
}

export function keepClients() {
  const idle = new Map<Client, { key: string; forget: () => void }>();
  const drop = (client: Client) => {
    idle.get(client)?.forget();
    client.destroy().catch(() => {});
  };
  return {
    /** The most recently used idle connection with this key, if any. */
    take(key: string): Client | undefined {
      const last = [...idle].findLast(([, entry]) => entry.key === key);
      last?.[1].forget();
      return last?.[0];
    },
    /** Keeps a connection whose last response was read to its end. */
    keep(key: string, client: Client): void {
      const close = () => drop(client);
      const forget = () => {
        idle.delete(client);
        client.off('disconnect', close);
      };
      idle.set(client, { key, forget });
      client.on('disconnect', close);
      const [oldest] = idle.keys();
      if (oldest && idle.size > MAX_IDLE) drop(oldest);
    },
    /** Closes the idle connections. */
    close(): void {
      for (const client of [...idle.keys()]) drop(client);
    },
  };
}
