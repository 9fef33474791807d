import { Framewright } from '@framewright/client';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { createServer } from './tools.ts';

export interface HttpOptions {
  baseUrl?: string | undefined;
  fetch?: typeof fetch | undefined;
  maxRetries?: number | undefined;
  stopping?: AbortSignal | undefined;
}

/** Stateless streamable HTTP. `parsedBody` is the body if it was already read. */
export function createHttpHandler({ baseUrl, fetch, maxRetries, stopping }: HttpOptions) {
  const handler = createMcpHandler(
    ({ authInfo }) =>
      createServer({
        client: new Framewright({ apiKey: authInfo?.token, baseUrl, fetch, maxRetries }),
        maxRetries,
        stopping,
      }),
    { maxSubscriptions: 0 }, // nothing changes here, and a stream would stay open forever
  );
  return async (request: Request, apiKey: string, parsedBody?: unknown): Promise<Response> => {
    const authInfo = { token: apiKey, clientId: '', scopes: [] };
    const response = await handler.fetch(request, { authInfo, parsedBody });
    response.headers.delete('connection'); // the HTTP server manages connections
    return response;
  };
}
