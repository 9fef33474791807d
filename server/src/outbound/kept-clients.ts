import type { Client } from 'undici';

/** How long an idle connection stays open. Its host may say that it closes it earlier. */
export const KEPT_SECONDS = 20;
/** How many idle connections one process keeps for one use. */
const MAX_IDLE = 64;

/**
 * Connections that stay open after a request, so that the next one needs no new connection. Each is
 * lent to one request at a time.
 */
export type KeptClients = ReturnType<typeof keepClients>;

export function keepClients() {
  const idle = new Map<Client, { key: string; forget: () => void }>();
  const drop = (client: Client) => {
    idle.get(client)?.forget();
    client.destroy().catch(() => {});
  };
  return {
    /** The connection with this key that became idle last; undefined if there is none. */
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
