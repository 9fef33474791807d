import { once } from 'node:events';
import type { Server } from 'node:http';

/** Starts to listen. Returns the server's address, such as `http://127.0.0.1:4711`. */
export async function listenOn(
  server: Server,
  { port = 0 }: { port?: number | undefined } = {},
): Promise<string> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not a network port');
  return `http://127.0.0.1:${address.port}`;
}

/** Ends all connections, and stops listening. */
export async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
