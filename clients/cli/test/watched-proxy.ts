import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { forward, translated } from '../../../server/test/clients/fault-proxy.ts';
import { closeServer, listenOn } from '../../../simulators/kit/http-server.ts';

/** What passes at the moment: `half` when one half of the response has been sent. */
export interface Moment {
  /** Such as `POST /api/v1/video/generations`. */
  line: string;
  headers: IncomingMessage['headers'];
  stage: 'received' | 'answered' | 'half';
}

/** A proxy in front of the service; links in responses lead to it as well. */
export interface WatchedProxy extends AsyncDisposable {
  url: string;
  /** All requests so far, such as `GET /api/v1/credits`. */
  lines: string[];
}

/** @param watch cuts the connection at this moment by returning `cut` */
export async function openWatchedProxy(
  target: string,
  watch: (moment: Moment) => 'cut' | undefined = () => undefined,
): Promise<WatchedProxy> {
  let url = '';
  const lines: string[] = [];
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const line = `${request.method} ${request.url?.split('?', 1)}`;
    lines.push(line);
    const isCut = (stage: Moment['stage']) =>
      watch({ line, headers: request.headers, stage }) === 'cut' && response.destroy();
    if (isCut('received')) return;
    const body = translated(await buffer(request), url, target);
    const forwarded = { received: request, response, target, body };
    const { status, headers, bytes } = await forward(forwarded);
    if (isCut('answered')) return;
    const sent = translated(bytes, target, url);
    response.writeHead(status, { ...headers, 'content-length': sent.length });
    const middle = Math.ceil(sent.length / 2);
    await new Promise((resolve) => response.write(sent.subarray(0, middle), resolve));
    if (isCut('half')) return;
    response.end(sent.subarray(middle));
  };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  url = await listenOn(server);
  return { url, lines, [Symbol.asyncDispose]: () => closeServer(server) };
}
