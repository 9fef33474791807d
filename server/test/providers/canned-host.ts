import { createServer, type IncomingHttpHeaders } from 'node:http';
import { after } from 'node:test';
import { closeServer, listenOn } from '../../../simulators/kit/http-server.ts';
import { parseAllowList } from '../../src/outbound/addresses.ts';
import { createGuardedFetch } from '../../src/outbound/guarded-fetch.ts';
import type { RemoteDeps } from '../../src/providers/kit/remote.ts';

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

/** A real server on a loopback port that sends the responses of a test, until the tests end. */
export async function startCannedHost() {
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
  const url = await listenOn(server);
  after(() => closeServer(server));
  return {
    url,
    /** Every request so far, oldest first. */
    requests,
    /**
     * Sets the responses of a path, used in order, the last one repeatedly. Other paths get a 404
     * in plain text.
     */
    respond(path: string, ...given: CannedResponse[]) {
      responses.set(path, given);
    },
  };
}

/** What the adapter of a host gets. */
export function remoteDeps(host: string, changes: Partial<RemoteDeps> = {}): RemoteDeps {
  return {
    guardedFetch: createGuardedFetch({ allow: parseAllowList(new URL(host).host) }),
    submitTimeoutSeconds: 5,
    now: Date.now,
    nextListTurn: async () => {},
    ...changes,
  };
}
