import { Framewright } from '@framewright/client';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { createServer } from './server.ts';
import { MAX_WAIT_SECONDS } from './session.ts';

/** How a handler reaches the API. */
export interface HttpOptions {
  baseUrl?: string | undefined;
  fetch?: typeof fetch | undefined;
  stopping?: AbortSignal | undefined;
}

/**
 * Makes the handler of streamable HTTP, which keeps no session: each request has the API key of
 * its caller. `parsedBody` is its body if something has read it already.
 */
export function createHttpHandler({ baseUrl, fetch, stopping }: HttpOptions) {
  const handler = createMcpHandler(({ authInfo }) =>
    createServer({
      client: new Framewright({ apiKey: authInfo?.token, baseUrl, fetch }),
      waitSeconds: MAX_WAIT_SECONDS,
      hasFiles: false,
      stopping,
    }),
  );
  return (request: Request, apiKey: string, parsedBody?: unknown): Promise<Response> =>
    handler.fetch(request, { authInfo: { token: apiKey, clientId: '', scopes: [] }, parsedBody });
}
