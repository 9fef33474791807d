import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** How long a client may take to send a request. */
const BODY_SECONDS = 60;

/** The longest time that a route may give to a body: Node ends all requests that take longer. */
export const MAX_BODY_SECONDS = 900;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** How long a body of this route may take to arrive. The default is a minute. */
    bodySeconds?: number;
  }
}

/**
 * Ends requests whose body takes longer to arrive than its route allows. Node has one limit for all
 * routes, and it is as long as the slowest upload needs.
 * @param refuse responds on the connection and closes it. Not called while an earlier request of
 *   the connection waits for its response: the client would take this one for it.
 */
export function limitBodyTime(app: FastifyInstance, refuse: (socket: Socket) => void): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (hasBody(request)) limitTime(request, reply, refuse);
    done();
  });
}

function hasBody({ headers }: FastifyRequest): boolean {
  return Number(headers['content-length'] ?? 0) > 0 || 'transfer-encoding' in headers;
}

function limitTime(
  { raw, routeOptions }: FastifyRequest,
  reply: FastifyReply,
  refuse: (socket: Socket) => void,
): void {
  const { bodySeconds = BODY_SECONDS } = routeOptions.config;
  const timer = setTimeout(() => {
    // Node gives a response its socket when all earlier ones have been sent.
    if (!raw.complete && reply.raw.socket) refuse(raw.socket);
    else raw.destroy();
  }, bodySeconds * 1000);
  const stop = () => clearTimeout(timer);
  raw.once('end', stop).once('close', stop);
  reply.raw.once('finish', stop).once('close', stop);
}
