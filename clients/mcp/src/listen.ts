import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { localhostAllowedOrigins, validateOriginHeader } from '@modelcontextprotocol/server';
import { createHttpHandler } from './http-handler.ts';

const PATH = '/mcp';

/**
 * Serves streamable HTTP at /mcp on the loopback address.
 * @returns the URL
 */
export async function listen(port: number): Promise<string> {
  const handle = createHttpHandler({});
  const server = createServer((request, response) => {
    respond(handle, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`;
}

async function respond(
  handle: ReturnType<typeof createHttpHandler>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.url?.split('?')[0] !== PATH) return refuse(response, 404, `The path is ${PATH}.`);
  const { origin, authorization = '' } = request.headers;
  if (!validateOriginHeader(origin, localhostAllowedOrigins()).ok) {
    return refuse(response, 403, 'Pages of other sites may not call this server.');
  }
  const [, apiKey] = /^bearer +(\S+) *$/i.exec(authorization) ?? [];
  if (apiKey === undefined) {
    response.setHeader('www-authenticate', 'Bearer');
    return refuse(response, 401, 'Send your API key: Authorization: Bearer fw_live_...');
  }
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  const answer = await handle(webRequest(request, gone.signal), apiKey);
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (!answer.body) return void response.end();
  await pipeline(Readable.fromWeb(answer.body as ReadableStream), response);
}

function webRequest(request: IncomingMessage, signal: AbortSignal): Request {
  const { method = 'GET' } = request;
  const address = `http://127.0.0.1${request.url}`;
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) headers.set(name, String(value));
  if (method === 'GET' || method === 'HEAD')
    return new Request(address, { method, headers, signal });
  const body = Readable.toWeb(request) as ReadableStream;
  return new Request(address, { method, headers, signal, body, duplex: 'half' });
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'text/plain' }).end(`${message}\n`);
}
