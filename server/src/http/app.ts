import {
  type FastifyInstance,
  type FastifyRequest,
  type FastifyServerOptions,
  fastify,
} from 'fastify';
import { newId } from '../kernel/ids.ts';
import { type Log, redact } from '../kernel/log.ts';
import { handleError, malformed, noSuchPath, wrongMethod } from '../requests/errors.ts';
import { inRequest, traceRequest } from '../requests/spans.ts';
import { type CallbackRouteDeps, callbackRoute } from './callbacks.ts';
import { createConnections, limitBodyTime, MAX_BODY_SECONDS } from './connections.ts';
import { mcpRoute } from './mcp/mcp-route.ts';
import { type MediaRouteDeps, mediaRoute } from './media.ts';
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
    /** Whether the website responds to a request without a route, with its page for 404. */
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

/**
 * Collects the methods of the routes that are registered from now on. Those of the console are left
 * out: only operators may know that theirs exist.
 * @returns the `Allow` header of a URL; undefined if its path has no route
 */
function collectMethods(app: FastifyInstance): (url: string) => string | undefined {
  const routes = new Map<string, { path: RegExp; methods: string[] }>();
  app.addHook('onRoute', ({ url, method, config }) => {
    if (url.startsWith('/console/') || config?.access === 'operator') return;
    const route = routes.get(url) ?? { path: patternOf(url), methods: [] };
    route.methods.push(...[method].flat());
    routes.set(url, route);
  });
  return (url) => {
    const [path = ''] = url.replace(/^https?:\/\/[^/]*/i, '').split('?');
    const fitting = [...routes.values()].filter((route) => route.path.test(path));
    const methods = new Set(fitting.flatMap((route) => route.methods));
    return methods.size === 0 ? undefined : [...methods].sort().join(', ');
  };
}

/** The paths of a route such as `/tasks/:id` or `/docs/*`. */
function patternOf(url: string): RegExp {
  const parts = url.split(/(:\w+|\*)/).map((part) => {
    if (part === '*') return '.*';
    return part.startsWith(':') ? '[^/]*' : RegExp.escape(part);
  });
  return new RegExp(`^${parts.join('')}$`);
}

type Ajv = Parameters<NonNullable<NonNullable<FastifyServerOptions['ajv']>['onCreate']>>[0];

/** A function of Ajv: what it says of the newest value is beside it. */
interface Validate {
  (data: unknown): unknown;
  errors?: unknown;
}

/**
 * Makes Ajv compile each schema when it is used for the first time. A start would otherwise spend a
 * fifth of its processor time on the schemas of all routes.
 */
function compileWhenUsed(ajv: Ajv): void {
  const compile: (schema: object) => Validate = ajv.compile.bind(ajv);
  const compileLater = (schema: object): Validate => {
    let compiled: Validate | undefined;
    const validate: Validate = (data) => {
      compiled ??= compile(schema);
      const isValid = compiled(data);
      validate.errors = compiled.errors;
      return isValid;
    };
    return validate;
  };
  Object.assign(ajv, { compile: compileLater });
}
