import { Framewright } from '@framewright/client';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { createServer } from './server.ts';

/** How a handler reaches the API. */
export interface HttpOptions {
  baseUrl?: string | undefined;
  fetch?: typeof fetch | undefined;
  maxRetries?: number | undefined;
  stopping?: AbortSignal | undefined;
}

/**
 * Makes the handler of streamable HTTP, which keeps no session: each request has the API key of
 * its caller. `parsedBody` is its body if something has read it already.
 */
export function createHttpHandler({ baseUrl, fetch, maxRetries, stopping }: HttpOptions) {
  const handler = createMcpHandler(
    ({ authInfo }) =>
      createServer({
        client: new Framewright({ apiKey: authInfo?.token, baseUrl, fetch, maxRetries }),
        maxRetries,
        stopping,
      }),
    { maxSubscriptions: 0 }, // nothing here changes, and a stream would stay open forever
  );
  return async (request: Request, apiKey: string, parsedBody?: unknown): Promise<Response> => {
    const authInfo = { token: apiKey, clientId: '', scopes: [] };
    const response = await handler.fetch(request, { authInfo, parsedBody });
    response.headers.delete('connection'); // whether it stays open, only the HTTP server knows
    return response;
  };
}
