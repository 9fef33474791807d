/**
 * A program with nothing but Node's HTTP server: the same response to every request, as long as that
 * of a read. It returns its URL and process id.
 */
import { createServer } from 'node:http';
import { listenOn } from '../../simulators/kit/http-server.ts';
import { type ProgramAddress, serveRequests } from '../program.ts';

export interface HttpFloorSetup {
  headers: Record<string, string>;
  body: string;
}

/** As Fastify's: the connections stay open while it is the other side's turn. */
const KEEP_ALIVE_SECONDS = 72;

serveRequests<HttpFloorSetup, object, ProgramAddress>(async ({ headers, body }) => {
  const server = createServer((_, response) => {
    response.writeHead(200, headers).end(body);
  });
  server.keepAliveTimeout = KEEP_ALIVE_SECONDS * 1000;
  const url = await listenOn(server);
  return {
    handle: async () => ({ url, pid: process.pid }),
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
});
