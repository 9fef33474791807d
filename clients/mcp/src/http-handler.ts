import { Framewright, type FramewrightOptions } from '@framewright/client';
import { createMcpHandler } from '@modelcontextprotocol/server';
import type { Session } from './generate.ts';
import { createServer } from './tools.ts';

export type HttpOptions = Omit<FramewrightOptions, 'apiKey'> & Pick<Session, 'stopping' | 'title'>;

/** Stateless streamable HTTP. `parsedBody` is the body if it was already read. */
export function createHttpHandler({ stopping, title, ...options }: HttpOptions) {
  const { maxRetries } = options;
  const handler = createMcpHandler(
    ({ authInfo }) => {
      const client = new Framewright({ apiKey: authInfo?.token, ...options });
      return createServer({ client, maxRetries, stopping, title });
    },
    { maxSubscriptions: 0 }, // the tools never change, and a stream would stay open forever
  );
  return async (request: Request, apiKey: string, parsedBody?: unknown): Promise<Response> => {
    const authInfo = { token: apiKey, clientId: '', scopes: [] };
    const response = await handler.fetch(request, { authInfo, parsedBody });
    response.headers.delete('connection'); // the HTTP server manages connections
    return response;
  };
}
