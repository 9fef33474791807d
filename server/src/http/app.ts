// The room http/: the HTTP server with the public API, media links, callbacks of providers, metrics
// and MCP. The website's routes are in site/.

import {
  type FastifyInstance,
  type FastifyRequest,
  type FastifyServerOptions,
  fastify,
} from 'fastify';
import type { BrandDeps } from '../brand/brand.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { hasModels, requestSchema, withoutHidden } from '../catalog/model-schema.ts';
import { newId } from '../kernel/ids.ts';
import { type Log, redact } from '../kernel/log.ts';
import { handleError, malformed, noSuchPath, wrongMethod } from '../requests/errors.ts';
import { compressed, sendText, type Text } from '../requests/routes.ts';
import { inRequest, traceRequest } from '../requests/spans.ts';
import { type CallbackRouteDeps, callbackRoute } from './callbacks.ts';
import { createHttpConnections, limitBodyTime, MAX_BODY_SECONDS } from './connections.ts';
import { mcpRoute } from './mcp/mcp-route.ts';
import { type MediaRouteDeps, mediaRoute } from './media.ts';
import { healthRoutes } from './operations/health.ts';
import { API_PREFIX, type PublicApiDeps, publicApi } from './public/public-api.ts';

export type AppDeps = PublicApiDeps &
  BrandDeps &
  MediaRouteDeps &
  CallbackRouteDeps & {
    log: Log;
    /** Whether the service can handle requests now, for /readyz. */
    isReady(): Promise<boolean>;
    /** For /readyz; undefined: objects are not stored on a disk. */
    isDiskFull?: (() => Promise<boolean>) | undefined;
    /** Whether this process is draining: responses then ask clients to reconnect. */
    isDraining?: () => boolean;
    /** The reverse proxies whose X-Forwarded-For is trusted; undefined: there are none. */
    trustedProxies?: string | undefined;
    /** The website's plugin, injected because it imports this folder. */
    site?: ((app: FastifyInstance) => Promise<void>) | undefined;
    /** Whether the website answers an unrouted request with its own 404 page. */
    isPageRequest?: ((request: FastifyRequest) => boolean) | undefined;
    onResponse?:
      | ((response: { route: string; status: number; seconds: number }) => void)
      | undefined;
  };

export async function createApp(deps: AppDeps): Promise<FastifyInstance> {
  const httpConnections = createHttpConnections();
  const app = fastify({
    genReqId: () => newId('request'),
    trustProxy: deps.trustedProxies ?? false,
    requestTimeout: MAX_BODY_SECONDS * 1000,
    forceCloseConnections: 'idle',
    return503OnClosing: false, // requests that arrive while it closes are handled
    routerOptions: { maxParamLength: 16 * 1024 }, // a long task id gets its route's 400, not a 404
    rewriteUrl: (request) => wellFormed(request.url ?? '/'),
    clientErrorHandler: httpConnections.refuseBroken,
    http: { requireHostHeader: false }, // or Node responds, without our error envelope
    ajv: {
      customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: true },
      onCreate: (ajv) => compileWhenUsed(ajv, deps.catalog),
    },
  });
  app.setErrorHandler((error: Error, request, reply) =>
    inRequest(request, () => handleError(error, { request, reply, log: deps.log })),
  );
  setResponseHeaders(app, deps);
  refuseUnroutable(app, deps);
  httpConnections.track(app);
  limitBodyTime(app, httpConnections.refuse);
  parseLimitParameters(app);
  healthRoutes(app, deps);
  await app.register(publicApi, { prefix: API_PREFIX, deps });
  mediaRoute(app, deps);
  await app.register((callbacks) => callbackRoute(callbacks, deps));
  const { publicUrl, waiting, catalog, brand, now } = deps;
  await app.register(async (mcp) =>
    mcpRoute(mcp, { publicUrl, brand, stopping: waiting.stopping }),
  );
  if (deps.site) await app.register(deps.site);
  let latest: Text | undefined;
  app.get('/openapi.json', async (request, reply) => {
    const { describePublicApi } = await import('./openapi/openapi.ts'); // rarely read
    const { name } = brand.current();
    const described = await describePublicApi(catalog.current(), new Date(now()), name);
    const json = JSON.stringify(described);
    if (latest?.plain.toString() !== json) latest = await compressed(json);
    const type = 'application/json; charset=utf-8';
    return sendText({ request, reply }, latest, { type, caching: 'no-store' });
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
 * Before the body is read, refuses HTTP/1.1 requests without a Host header, and requests for which
 * there is no route. Ignores unknown Expect headers: Node would refuse them without our error
 * envelope.
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
    app.server.emit('request', request, response);
  });
}

/** Escapes every % of a badly encoded URL: the router would refuse it before our checks. */
function wellFormed(url: string): string {
  try {
    decodeURIComponent(url);
    return url;
  } catch {
    return url.replaceAll('%', '%25');
  }
}

/** Turns the query parameter `limit` into a number, as its schema wants. */
function parseLimitParameters(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const { properties } = Object(route.schema?.querystring);
    if (properties?.limit) route.preValidation = parseLimit;
  });
}

async function parseLimit({ query }: FastifyRequest): Promise<void> {
  const given = query as { limit?: unknown };
  if (typeof given.limit === 'string' && /^-?\d+$/.test(given.limit)) {
    given.limit = Number(given.limit);
  }
}

/**
 * Collects the methods of routes registered from now on. Returns the `Allow` header of a URL that
 * has a route; operators' routes and all under `/console/` count as unknown, so that a 405 does not
 * tell which exist.
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
    const matching = [...routes.values()].filter((route) => route.path.test(path));
    const methods = new Set(matching.flatMap((route) => route.methods));
    return methods.size === 0 ? undefined : [...methods].sort().join(', ');
  };
}

function patternOf(url: string): RegExp {
  const parts = url.split(/(:\w+|\*)/).map((part) => {
    if (part === '*') return '.*';
    return part.startsWith(':') ? '[^/]*' : RegExp.escape(part);
  });
  return new RegExp(`^${parts.join('')}$`);
}

type Ajv = Parameters<NonNullable<NonNullable<FastifyServerOptions['ajv']>['onCreate']>>[0];

/** A function compiled by Ajv. Its property `errors` has the errors of its last call. */
interface Validate extends Pick<ReturnType<Ajv['compile']>, 'errors'> {
  (data: unknown): unknown;
}

/**
 * Compiles each schema on first use: compiling all would take a fifth of the CPU time of a start. A
 * schema that lists models is compiled again after the catalog has changed.
 */
function compileWhenUsed(ajv: Ajv, catalog: AppDeps['catalog']): void {
  const compile: (schema: object) => Validate = ajv.compile.bind(ajv);
  const compileLater = (schema: object): Validate => {
    let compiled: Validate | undefined;
    const validate: Validate = (data) => {
      compiled ??= hasModels(schema) ? compileForModels(schema) : compile(schema);
      const isValid = compiled(data);
      validate.errors = compiled.errors ?? null;
      return isValid;
    };
    return validate;
  };
  const compileForModels = (schema: object): Validate => {
    let made: { by: Catalog; schema: object; compiled: Validate } | undefined;
    const validate: Validate = (data) => {
      const by = catalog.current();
      if (made?.by !== by) {
        if (made) ajv.removeSchema(made.schema);
        const own = requestSchema(schema, by);
        made = { by, schema: own, compiled: compile(own) };
      }
      const isValid = made.compiled(data);
      validate.errors = withoutHidden(made.compiled.errors ?? [], by);
      return isValid;
    };
    return validate;
  };
  Object.assign(ajv, { compile: compileLater });
}
