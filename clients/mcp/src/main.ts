#!/usr/bin/env node
import { realpathSync, statSync } from 'node:fs';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { parseArgs } from 'node:util';
import { Framewright, VERSION } from '@framewright/client';
import { localhostAllowedOrigins, validateOriginHeader } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { createHttpHandler } from './http-handler.ts';
import { createServer } from './tools.ts';

const HELP = `framewright-mcp: videos as tools of an MCP client

Usage: framewright-mcp [--files FOLDER]   speaks MCP on stdin and stdout
       framewright-mcp --http PORT        speaks streamable HTTP on 127.0.0.1:PORT/mcp; each
                                          request has its API key as bearer token

Options:
  --files FOLDER   the pictures and videos below FOLDER may be uploaded; by default, none
  --help, --version

Environment:
  FRAMEWRIGHT_API_KEY    your API key (not needed with --http)
  FRAMEWRIGHT_BASE_URL   the API of your installation, such as https://videos.example.com/api/v1
`;

function fail(message: string): never {
  process.stderr.write(`framewright-mcp: ${message}\n`);
  process.exit(2);
}

function portOf(text: string): number {
  if (!/^\d{1,5}$/.test(text)) fail(`--http takes a port, not "${text}"`);
  return Number(text);
}

/** The --files folder with symbolic links resolved. */
function folderOf(path: string): string {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return realpathSync(path);
  return fail(`--files takes a folder, not "${path}"`);
}

function orFail<T>(work: () => T, hint = ''): T {
  try {
    return work();
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : error}${hint}`);
  }
}

const PATH = '/mcp';

/** Serves streamable HTTP on the loopback address. @returns the URL */
async function listen(port: number): Promise<string> {
  const handle = createHttpHandler({});
  const server = createHttpServer((request, response) => {
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
  const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
  const body = method === 'GET' || method === 'HEAD' ? null : Readable.toWeb(request);
  const init = { method, headers: Object.fromEntries(headers), signal, body, duplex: 'half' };
  return new Request(`http://127.0.0.1${request.url}`, init as RequestInit);
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'text/plain' }).end(`${message}\n`);
}

const OPTIONS = {
  files: { type: 'string' },
  http: { type: 'string' },
  help: { type: 'boolean' },
  version: { type: 'boolean' },
} as const;

const { values } = orFail(() => parseArgs({ options: OPTIONS }), '\nTry --help.');
if (values.help) process.stdout.write(HELP);
else if (values.version) process.stdout.write(`${VERSION}\n`);
else if (values.http !== undefined) {
  const url = await listen(portOf(values.http)).catch((error) => fail(error.message));
  process.stderr.write(`Listening on ${url}\n`);
} else {
  const files = { folder: values.files === undefined ? undefined : folderOf(values.files) };
  const client = orFail(() => new Framewright());
  serveStdio(() => createServer({ client, files }));
}
