import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';

/** A response with a body in JSON or plain text. */
export interface CannedResponse {
  status?: number;
  headers?: Record<string, string>;
  json?: unknown;
  text?: string;
}

interface CannedRequest {
  method: string;
  url: URL;
  headers: IncomingHttpHeaders;
  body: string;
}

/** A real server on a loopback port that sends the responses of a test. */
export interface CannedHost {
  url: string;
  /** Every request so far, oldest first. */
  requests: CannedRequest[];
  /**
   * Sets the responses of a path, used in order, the last one repeatedly. Other paths get a 404 in
   * plain text.
   */
  respond(path: string, ...responses: CannedResponse[]): void;
  close(): Promise<void>;
}

export async function startCannedHost(): Promise<CannedHost> {
  const responses = new Map<string, CannedResponse[]>();
  const requests: CannedRequest[] = [];
  const next = (path: string): CannedResponse => {
    const [first, ...rest] = responses.get(path) ?? [];
    if (rest.length > 0) responses.set(path, rest);
    return first ?? { status: 404, text: 'nothing here' };
  };
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://host');
    const body = Buffer.concat(await Array.fromAsync(request)).toString();
    requests.push({ method: request.method ?? '', url, headers: request.headers, body });
    const { status = 200, headers, json, text } = next(url.pathname);
    response.writeHead(status, headers);
    response.end(text ?? JSON.stringify(json));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not a network port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    respond: (path, ...given) => responses.set(path, given),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
