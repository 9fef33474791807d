import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

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
    const { status, headers, bytes } = await forward(request, target, body);
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
  await once(server.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    lines,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** JSON with the address of the other side; files are left as they are. */
function translated(bytes: Buffer, from: string, to: string): Buffer {
  const isJson = bytes[0] === '{'.charCodeAt(0);
  return isJson ? Buffer.from(bytes.toString().replaceAll(from, to)) : bytes;
}

const DROPPED = ['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'host'];

async function forward(
  { method = 'GET', url = '/', headers }: IncomingMessage,
  target: string,
  body: Buffer,
) {
  const kept = Object.entries(headers).filter(([name]) => !DROPPED.includes(name));
  const answer = await fetch(target + url, {
    method,
    headers: kept.map(([name, value]) => [name, String(value)]),
    ...(body.length > 0 && { body: new Uint8Array(body) }),
    redirect: 'manual',
  });
  const bytes = Buffer.from(await answer.arrayBuffer());
  const returned = [...answer.headers].filter(([name]) => !DROPPED.includes(name));
  return { status: answer.status, headers: Object.fromEntries(returned), bytes };
}
