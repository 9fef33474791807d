import { once } from 'node:events';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { FastifyInstance, FastifyReply, FastifyRequest, InjectOptions } from 'fastify';
import { secretOf } from '../../accounts/admission.ts';
import type { BrandDeps } from '../../brand/brand.ts';
import { ApiError } from '../../kernel/errors.ts';
import { acceptJsonOnly } from '../../requests/bodies.ts';
import { API_PREFIX } from '../public/public-api.ts';

/** The base URL of in-process calls; nothing is sent there. */
const BASE_URL = `http://framewright.internal${API_PREFIX}`;

interface McpDeps extends BrandDeps {
  publicUrl(): string;
  /** Aborts the calls that wait for a video. */
  stopping: AbortSignal;
}

/**
 * Serves the tools of `clients/mcp` to clients that have only the URL and an API key
 * (decisions/0054). Tools call the public API in-process, so its rules, rate window and errors
 * apply. Browsers may call it only from pages of this installation: the protocol demands this
 * against DNS rebinding.
 */
export function mcpRoute(app: FastifyInstance, { publicUrl, brand, stopping }: McpDeps): void {
  acceptJsonOnly(app);
  app.addHook('onRequest', async ({ headers: { origin } }) => {
    if (origin === undefined || origin === new URL(publicUrl()).origin) return;
    throw new ApiError('cross_site', 'Pages of other sites may not call this server.');
  });
  app.route({
    method: 'POST', // GET and DELETE are 405: there are no sessions
    url: '/mcp',
    schema: { hide: true },
    handler: (request, reply) =>
      callTool({ app, stopping, title: brand.current().name }, request, reply),
  });
}

async function callTool(
  { app, ...options }: { app: FastifyInstance; stopping: AbortSignal; title: string },
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const apiKey = secretOf(request.headers.authorization);
  const counted = Promise.withResolvers<true>();
  const callInProcess = fetchInProcess(app, request.ip);
  const callApi: typeof fetch = (...call) => {
    if (!isPublic(call[0])) counted.resolve(true);
    return callInProcess(...call);
  };
  const { createHttpHandler } = await import('@framewright/mcp');
  // No retries here: nothing limits how many calls would wait. The caller gets Retry-After.
  const calls = { baseUrl: BASE_URL, fetch: callApi, maxRetries: 0 };
  const handle = createHttpHandler({ ...calls, ...options });
  const response = await handle(webRequest(request, reply), apiKey, request.body);
  const bytes = Readable.fromWeb((response.body ?? new Blob().stream()) as ReadableStream);
  const isCounted = await Promise.race([counted.promise, once(bytes, 'readable')]);
  // A request that called no API operation has not been authenticated or counted yet.
  if (isCounted !== true && request.body !== undefined) {
    const headers = { authorization: `Bearer ${apiKey}` };
    const admitted = await callInProcess(`${BASE_URL}/credits`, { headers });
    if (!admitted.ok) {
      bytes.destroy();
      return reply.send(admitted);
    }
  }
  return reply.code(response.status).headers(Object.fromEntries(response.headers)).send(bytes);
}

/** Whether an operation neither authenticates nor counts its requests. */
function isPublic(target: Parameters<typeof fetch>[0]): boolean {
  const url = target instanceof Request ? target.url : String(target);
  return url === `${BASE_URL}/models`;
}

/** A `fetch` that calls the app without a socket, as if from this address. */
function fetchInProcess(app: FastifyInstance, remoteAddress: string): typeof fetch {
  return async (target, init) => {
    const { method, headers, body, signal } = new Request(target, init);
    const { pathname, search } = new URL(target instanceof Request ? target.url : target);
    const payload = body ? Buffer.from(await new Response(body).arrayBuffer()) : undefined;
    const options: InjectOptions = {
      method: method as 'GET',
      url: pathname + search,
      headers: Object.fromEntries(headers),
      remoteAddress,
      signal,
      ...(payload && { payload }),
    };
    const { statusCode, headers: sent, rawPayload } = await app.inject(options);
    const hasBody = statusCode !== 204;
    return new Response(hasBody ? new Uint8Array(rawPayload) : null, {
      status: statusCode,
      headers: webHeaders(sent),
    });
  };
}

/** Connection headers, not response headers (RFC 9110, section 7.6.1). */
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding']);

function webHeaders(headers: Record<string, unknown>): Headers {
  const kept = Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name));
  return new Headers(kept.map(([name, value]) => [name, String(value)]));
}

/** The request for the MCP server, which gets the body separately, already parsed. */
function webRequest({ url, headers }: FastifyRequest, { raw }: FastifyReply): Request {
  const gone = new AbortController();
  raw.once('close', () => gone.abort());
  return new Request(new URL(url, BASE_URL), {
    method: 'POST',
    headers: webHeaders(headers),
    signal: gone.signal,
    body: '',
  });
}
