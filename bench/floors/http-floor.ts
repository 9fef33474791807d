/** A program with nothing but Node's HTTP server and fixed responses; returns its URL and pid. */
import { createServer } from 'node:http';
import { closeServer, listenOn } from '../../simulators/kit/http-server.ts';
import { type ProgramAddress, serveRequests } from '../program.ts';

/** Responses by a part of the request's path; the first one that fits is sent. */
export type HttpFloorSetup = Record<string, { headers: Record<string, string>; body: string }>;

/** As Fastify's: the connections stay open while it is the other side's turn. */
const KEEP_ALIVE_SECONDS = 72;

serveRequests<HttpFloorSetup, object, ProgramAddress>(async (setup) => {
  const responses = Object.entries(setup);
  const server = createServer(({ url = '' }, response) => {
    const [, sent] = responses.find(([part]) => url.includes(part)) ?? [];
    response.writeHead(sent ? 200 : 404, sent?.headers).end(sent?.body);
  });
  server.keepAliveTimeout = KEEP_ALIVE_SECONDS * 1000;
  const url = await listenOn(server);
  return {
    handle: async () => ({ url, pid: process.pid }),
    close: () => closeServer(server),
  };
});
