import type { Client } from 'undici';

/** How many idle connections are kept. The one that has been idle longest is closed first. */
const MAX_IDLE = 64;

/** Connections that are kept after a response. Each is lent to one request at a time. */
export type IdleConnections = ReturnType<typeof createIdleConnections>;

export function createIdleConnections() {
  const idle = new Map<Client, string>();
  const drop = (client: Client) => {
    idle.delete(client);
    client.destroy().catch(() => {});
  };
  return {
    /** The connection with this key that became idle last. */
    take(key: string): Client | undefined {
      const client = [...idle].findLast(([, keptKey]) => keptKey === key)?.[0];
      if (client) idle.delete(client);
      return client;
    },
    /** Call it once for each new connection that will be kept. */
    watch: (client: Client) => void client.on('disconnect', () => idle.has(client) && drop(client)),
    /** Keeps a connection until its host closes it. */
    keep(key: string, client: Client): void {
      idle.set(client, key);
      const [oldest] = idle.keys();
      if (oldest && idle.size > MAX_IDLE) drop(oldest);
    },
    close(): void {
      for (const client of idle.keys()) drop(client);
    },
  };
}
