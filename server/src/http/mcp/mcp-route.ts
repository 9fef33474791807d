import { once } from 'node:events';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { FastifyInstance, FastifyReply, FastifyRequest, InjectOptions } from 'fastify';
import { secretOf } from '../../accounts/admission.ts';
import { ApiError } from '../../kernel/errors.ts';
import { acceptJsonOnly } from '../../requests/bodies.ts';
import { API_PREFIX } from '../public/public-api.ts';

/** Where the URLs of the calls within the process seem to lead; nothing is sent there. */
const BASE_URL = `http://framewright.internal${API_PREFIX}`;

interface McpDeps {
  /** The address of this installation. */
  publicUrl(): string;
  /** Ends the calls that wait for a video. */
  stopping: AbortSignal;
}

/**
 * Serves the tools of the MCP server of `clients/mcp` to a client that has only the URL and an API
 * key (decisions/0054). A tool calls the public API within the process, so that its rules, its
 * rate window and its errors hold here too. Browsers may call it from pages of this installation
 * only, as the protocol demands against DNS rebinding.
 */
export function mcpRoute(app: FastifyInstance, { publicUrl, stopping }: McpDeps): void {
  acceptJsonOnly(app);
  app.addHook('onRequest', async ({ headers: { origin } }) => {
    if (origin === undefined || origin === new URL(publicUrl()).origin) return;
    throw new ApiError('cross_site', 'Pages of other sites may not call this server.');
  });
  app.route({
    method: 'POST', // GET and DELETE are 405: there are no sessions
    url: '/mcp',
    schema: { hide: true },
    handler: (request, reply) => callTool({ app, stopping }, request, reply),
  });
}

async function callTool(
  { app, stopping }: { app: FastifyInstance; stopping: AbortSignal },
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const apiKey = secretOf(request.headers.authorization);
  const called = Promise.withResolvers<true>();
  const callWithin = fetchWithin(app, request.ip);
  const callApi: typeof fetch = (...call) => {
    called.resolve(true);
    return callWithin(...call);
  };
  const { createHttpHandler } = await import('@framewright/mcp');
  // The caller waits for Retry-After itself: here, nothing limits how many calls would wait.
  const handle = createHttpHandler({ baseUrl: BASE_URL, fetch: callApi, maxRetries: 0, stopping });
  const response = await handle(webRequest(request, reply), apiKey, request.body);
  const bytes = Readable.fromWeb((response.body ?? new Blob().stream()) as ReadableStream);
  const isCounted = await Promise.race([called.promise, once(bytes, 'readable')]);
  // What ends without a call of the API was neither authenticated nor counted yet.
  if (isCounted !== true && request.body !== undefined) {
    const headers = { authorization: `Bearer ${apiKey}` };
    const admitted = await callWithin(`${BASE_URL}/credits`, { headers });
    if (!admitted.ok) {
      bytes.destroy();
      return reply.send(admitted);
    }
  }
  return reply.code(response.status).headers(Object.fromEntries(response.headers)).send(bytes);
}

/** A `fetch` that calls this app, without a connection. */
function fetchWithin(app: FastifyInstance, remoteAddress: string): typeof fetch {
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

/** Of one connection, not of a response (RFC 9110, section 7.6.1). */
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding']);

/** The headers of Node's HTTP as the web's are, without those of the connection. */
function webHeaders(headers: Record<string, unknown>): Headers {
  const kept = Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name));
  return new Headers(kept.map(([name, value]) => [name, String(value)]));
}

/** The request as the MCP server takes it; its body was read already. */
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
