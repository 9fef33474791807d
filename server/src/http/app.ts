import type { Socket } from 'node:net';
import swagger from '@fastify/swagger';
import { type FastifyInstance, fastify } from 'fastify';
import { ApiError, errorEnvelope } from '../kernel/errors.ts';
import { newId } from '../kernel/ids.ts';
import { type Log, redact } from '../kernel/log.ts';
import { type CallbackRouteDeps, callbackRoute } from './callbacks/callbacks.ts';
import { type MediaRouteDeps, mediaRoute } from './delivery/media.ts';
import { handleError, malformed } from './errors.ts';
import { healthRoutes } from './operations/health.ts';
import { openApiOptions } from './public/openapi.ts';
import { PUBLIC_API, type PublicApiDeps, publicApi } from './public/public-api.ts';

export type AppDeps = PublicApiDeps &
  MediaRouteDeps &
  CallbackRouteDeps & {
    log: Log;
    /** Whether the service can take requests now, for /readyz. */
    isReady(): Promise<boolean>;
    /** Called with the route, status and seconds of every answer. */
    onResponse?:
      | ((response: { route: string; status: number; seconds: number }) => void)
      | undefined;
  };

/** Every request has the time of a slow client to send its body, and no more. */
const REQUEST_SECONDS = 60;

/** Builds the HTTP side of the service; it does not listen yet. */
export async function createApp(deps: AppDeps): Promise<FastifyInstance> {
  const app = fastify({
    genReqId: () => newId('request'),
    requestTimeout: REQUEST_SECONDS * 1000,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { maxParamLength: 16 * 1024 }, // longer ids are our own 400, not a 404
    rewriteUrl: (request) => wellFormed(request.url ?? '/'),
    clientErrorHandler: refuseBrokenRequest,
    http: { requireHostHeader: false }, // Node would answer on its own, without the envelope
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: true } },
  });
  app.setErrorHandler((error: Error, request, reply) =>
    handleError(error, { request, reply, log: deps.log }),
  );
  setResponseHeaders(app, deps);
  refuseUnroutable(app);
  noteRequests(app);
  await app.register(swagger, openApiOptions());
  healthRoutes(app, deps);
  await app.register(publicApi, { prefix: PUBLIC_API.prefix, deps });
  mediaRoute(app, deps);
  await app.register((callbacks) => callbackRoute(callbacks, deps));
  app.get('/openapi.json', { schema: { hide: true } }, () => app.swagger());
  return app;
}

function setResponseHeaders(app: FastifyInstance, { log, onResponse }: AppDeps): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id).header('cache-control', 'no-store');
  });
  app.addHook('onResponse', async (request, reply) => {
    const { method, url, id } = request;
    const seconds = reply.elapsedTime / 1000;
    const route = request.routeOptions.url ?? 'unknown';
    onResponse?.({ route, status: reply.statusCode, seconds });
    if (!log.isLevelEnabled('debug')) return;
    const status = reply.statusCode;
    log.debug({ request: id, method, url: redact(url), status, seconds }, 'answered');
  });
}

/** Refuses what has no route before its body is read; so Node's own answers are never needed. */
function refuseUnroutable(app: FastifyInstance): void {
  app.addHook('onRequest', async (request) => {
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1') throw malformed();
    if (request.is404) throw new ApiError('not_found', 'There is nothing at this address.');
  });
  app.server.on('checkExpectation', (request, response) => {
    app.server.emit('request', request, response); // no expectation changes what we answer
  });
  app.server.on('connect', (_request, socket: Socket) => refuseOnSocket(socket));
}

/** A URL whose percent-encoding is broken is taken literally, so that it meets the usual checks. */
function wellFormed(url: string): string {
  try {
    decodeURIComponent(url);
    return url;
  } catch {
    return url.replaceAll('%', '%25');
  }
}

/** The newest request of each connection, and whether its answer is still to come. */
const newest = new WeakMap<Socket, { received(): boolean; answered: boolean }>();

function noteRequests(app: FastifyInstance): void {
  app.server.on('request', (request, response) => {
    const note = { received: () => request.complete, answered: false };
    newest.set(request.socket, note);
    response.once('close', () => {
      note.answered = true;
    });
  });
}

/**
 * Answers bytes that are no HTTP request at all with the envelope too. Behind a request whose
 * answer is still to come it would be taken for that answer: then the connection is cut instead.
 */
function refuseBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  const note = newest.get(socket);
  const isAwaited = note?.received() === true && !note.answered;
  if (error.code === 'ECONNRESET' || !socket.writable || isAwaited) {
    socket.destroy();
    return;
  }
  refuseOnSocket(socket);
}

function refuseOnSocket(socket: Socket): void {
  const { code, message, details } = malformed();
  const body = JSON.stringify(errorEnvelope(code, message, details));
  socket.end(
    'HTTP/1.1 400 Bad Request\r\nConnection: close\r\nCache-Control: no-store\r\n' +
      `X-Request-Id: ${newId('request')}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
