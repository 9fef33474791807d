import { type FastifyInstance, type FastifyRequest, fastify } from 'fastify';
import { newId } from '../kernel/ids.ts';
import { type Log, redact } from '../kernel/log.ts';
import { handleError, malformed, noSuchPath, wrongMethod } from '../requests/errors.ts';
import { inRequest, traceRequest } from '../requests/spans.ts';
import { collectMethods } from './allowed-methods.ts';
import { limitBodyTime, MAX_BODY_SECONDS } from './body-time.ts';
import { type CallbackRouteDeps, callbackRoute } from './callbacks/callbacks.ts';
import { createConnections } from './connections.ts';
import { type MediaRouteDeps, mediaRoute } from './delivery/media.ts';
import { compileWhenUsed } from './lazy-schemas.ts';
import { mcpRoute } from './mcp/mcp-route.ts';
import { healthRoutes } from './operations/health.ts';
import { API_PREFIX, type PublicApiDeps, publicApi } from './public/public-api.ts';

export type AppDeps = PublicApiDeps &
  MediaRouteDeps &
  CallbackRouteDeps & {
    log: Log;
    /** Whether the service can handle requests now, for /readyz. */
    isReady(): Promise<boolean>;
    /** Whether the disk for objects is full, for /readyz; undefined: they are stored elsewhere. */
    isDiskFull?: (() => Promise<boolean>) | undefined;
    /** Whether clients shall use another process: the responses ask them to reconnect. */
    isDraining?: () => boolean;
    /** The proxies in front, whose X-Forwarded-For names the client; undefined: there is none. */
    trustedProxies?: string | undefined;
    /** The website. It is a dependency, because it knows this room. */
    site?: ((app: FastifyInstance) => Promise<void>) | undefined;
    /** Whether the website answers a request without a route, with its page that says so. */
    isPageRequest?: ((request: FastifyRequest) => boolean) | undefined;
    /** Called after every response. */
    onResponse?:
      | ((response: { route: string; status: number; seconds: number }) => void)
      | undefined;
  };

/** Builds the HTTP server of the service; it does not listen yet. */
export async function createApp(deps: AppDeps): Promise<FastifyInstance> {
  const connections = createConnections();
  const app = fastify({
    genReqId: () => newId('request'),
    trustProxy: deps.trustedProxies ?? false,
    requestTimeout: MAX_BODY_SECONDS * 1000,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { maxParamLength: 16 * 1024 }, // a long task id gets its route's 400, not a 404
    rewriteUrl: (request) => wellFormed(request.url ?? '/'),
    clientErrorHandler: connections.refuseBroken,
    http: { requireHostHeader: false }, // otherwise Node responds, without the envelope
    ajv: {
      customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: true },
      onCreate: compileWhenUsed,
    },
  });
  app.setErrorHandler((error: Error, request, reply) =>
    inRequest(request, () => handleError(error, { request, reply, log: deps.log })),
  );
  setResponseHeaders(app, deps);
  refuseUnroutable(app, deps);
  connections.track(app);
  limitBodyTime(app, connections.refuse);
  readLimits(app);
  healthRoutes(app, deps);
  await app.register(publicApi, { prefix: API_PREFIX, deps });
  mediaRoute(app, deps);
  await app.register((callbacks) => callbackRoute(callbacks, deps));
  const { publicUrl, waiting } = deps;
  await app.register(async (mcp) => mcpRoute(mcp, { publicUrl, stopping: waiting.stopping }));
  if (deps.site) await app.register(deps.site);
  app.get('/openapi.json', async () => {
    const { describePublicApi } = await import('./openapi/openapi.ts'); // seldom read
    return describePublicApi();
  });
  return app;
}

function setResponseHeaders(
  app: FastifyInstance,
  { log, onResponse, isDraining = () => false }: AppDeps,
): void {
  app.addHook('onRequest', (request, reply, done) => {
    traceRequest(request, reply);
    reply
      .header('x-request-id', request.id)
      .header('cache-control', 'no-store')
      .header('x-content-type-options', 'nosniff');
    if (isDraining()) reply.header('connection', 'close');
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    const { method, url, id } = request;
    const seconds = reply.elapsedTime / 1000;
    const route = request.routeOptions.url ?? 'unknown';
    onResponse?.({ route, status: reply.statusCode, seconds });
    if (log.isLevelEnabled('debug')) {
      const line = { request: id, method, url: redact(url), status: reply.statusCode, seconds };
      inRequest(request, () => log.debug(line, 'response sent'));
    }
    done();
  });
}

/**
 * Refuses an HTTP/1.1 request without a Host header, and any request without a route, before the
 * body is read. Also takes over the requests with an unknown expectation, which Node would refuse
 * itself, without the envelope.
 */
function refuseUnroutable(app: FastifyInstance, { isPageRequest = () => false }: AppDeps): void {
  const methodsOf = collectMethods(app);
  app.addHook('onRequest', (request, reply, done) => {
    const lacksHost = request.headers.host === undefined && request.raw.httpVersion === '1.1';
    if (lacksHost) return done(malformed());
    if (!request.is404 || isPageRequest(request)) return done();
    const allowed = methodsOf(request.url);
    if (allowed === undefined) return done(noSuchPath());
    reply.header('allow', allowed);
    done(wrongMethod(allowed));
  });
  app.server.on('checkExpectation', (request, response) => {
    app.server.emit('request', request, response); // an expectation does not change the response
  });
}

/**
 * The URL, with each % escaped if its percent-encoding is broken: then the request gets the usual
 * checks instead of an error of the router.
 */
function wellFormed(url: string): string {
  try {
    decodeURIComponent(url);
    return url;
  } catch {
    return url.replaceAll('%', '%25');
  }
}

/** Reads the `limit` of each query whose schema has one: a query has texts, the schema a number. */
function readLimits(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const { properties } = Object(route.schema?.querystring);
    if (properties?.limit) route.preValidation = readLimit;
  });
}

async function readLimit({ query }: FastifyRequest): Promise<void> {
  const given = query as { limit?: unknown };
  if (typeof given.limit === 'string' && /^-?\d+$/.test(given.limit)) {
    given.limit = Number(given.limit);
  }
}
