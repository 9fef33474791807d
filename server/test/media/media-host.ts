import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import * as http from 'node:http';
import * as https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { pipeline, Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import { TEST_HOST_CERTIFICATE_FILE, TEST_HOST_KEY_FILE } from '../tls/certificates.ts';

/** How a path of the test host behaves. Other paths return 404. */
export type Behaviour =
  /** These bytes with these headers; a `content-length` among them is sent even if it is wrong. */
  | { kind: 'bytes'; bytes: Uint8Array; status?: number; headers?: Record<string, string> }
  | { kind: 'redirect'; to: string; status?: number | undefined }
  /** Bytes that trickle, a few at a time, and never end. */
  | { kind: 'drip'; chunkBytes: number; everySeconds: number }
  /** Bytes as fast as they are read, without end. */
  | { kind: 'endless'; status?: number; headers?: Record<string, string> }
  /** Accepts the request and never responds. */
  | { kind: 'stall' }
  /** Delays the response until this moment. */
  | { kind: 'after'; moment: Promise<unknown>; next: Behaviour }
  /** Sends headers and some bytes, then nothing more. */
  | { kind: 'stall_in_body'; bytes: Uint8Array }
  /** Announces more than it sends, then drops the connection. */
  | { kind: 'reset'; bytes: Uint8Array }
  /** A few kilobytes of gzip that decode to this many zeros. */
  | { kind: 'gzip_bomb'; decodedBytes: number }
  /** Exactly this text instead of an HTTP response, then the connection ends. */
  | { kind: 'raw'; text: string };

interface SeenRequest {
  path: string;
  headers: http.IncomingHttpHeaders;
}

/** A real server on a loopback port for tests that download. */
export type MediaHost = Awaited<ReturnType<typeof startMediaHost>>;

/**
 * Starts a host on `address` (127.0.0.1), with TLS unless `tls` is false, on a free port unless one
 * is given. Its certificate holds for localhost, 127.0.0.1, ::1, media.test and *.media.test.
 */
export async function startMediaHost(
  options: { tls?: boolean; address?: string; port?: number } = {},
) {
  const behaviours = new Map<string, Behaviour>();
  const requests: SeenRequest[] = [];
  const server = await createServer(options.tls ?? true);
  server.on('request', (request: http.IncomingMessage, response: http.ServerResponse) => {
    const path = request.url ?? '/';
    requests.push({ path, headers: request.headers });
    server.emit('seen');
    response.on('error', () => {}); // the client may disconnect at any time
    behave(behaviours.get(path.replace(/\?.*/, '')), response);
  });
  const connections = watchConnections(server);
  server.listen(options.port ?? 0, options.address ?? '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const scheme = options.tls === false ? 'http' : 'https';
  const url = (path: string, host = 'localhost') => `${scheme}://${host}:${port}${path}`;
  return {
    port,
    /** The URL of a path, with a host name or address of this host; `localhost` when not given. */
    url,
    /** Sets the behaviour of a path and returns its URL. */
    serve(path: string, behaviour: Behaviour) {
      behaviours.set(path, behaviour);
      return url(path);
    },
    /** Every request so far, oldest first. */
    requests,
    /** Connections accepted so far, with a request or without. */
    connectionCount: () => connections.count,
    /** Bytes written to the connections that are open now. */
    sentBytes: () => [...connections.open].reduce((sum, socket) => sum + socket.bytesWritten, 0),
    /** Resolves once no connection is open; rejects when one stays open for 10 seconds. */
    async idle() {
      while (connections.open.size > 0) await once(server, 'gone', patience());
    },
    /** Resolves once a request for this path has arrived; rejects after 10 idle seconds. */
    async requested(path: string) {
      while (!requests.some((request) => request.path === path))
        await once(server, 'seen', patience());
    },
    async close() {
      for (const socket of connections.open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A time limit, so that a test fails instead of hanging. */
function patience() {
  return { signal: AbortSignal.timeout(10_000) };
}

async function createServer(tls: boolean): Promise<http.Server> {
  if (!tls) return http.createServer();
  const [key, cert] = await Promise.all([
    readFile(TEST_HOST_KEY_FILE),
    readFile(TEST_HOST_CERTIFICATE_FILE),
  ]);
  return https.createServer({ key, cert }).on('tlsClientError', () => {});
}

function watchConnections(server: http.Server): { open: Set<Socket>; count: number } {
  const connections = { open: new Set<Socket>(), count: 0 };
  server.on('connection', (socket: Socket) => {
    connections.count += 1;
    connections.open.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => {
      connections.open.delete(socket);
      server.emit('gone');
    });
  });
  return connections;
}

function behave(behaviour: Behaviour | undefined, response: http.ServerResponse): void {
  switch (behaviour?.kind) {
    case 'bytes':
      response.writeHead(behaviour.status ?? 200, behaviour.headers).end(behaviour.bytes);
      return;
    case 'redirect':
      response.writeHead(behaviour.status ?? 302, { location: behaviour.to }).end('moved');
      return;
    case 'drip':
      send(Readable.from(trickle(behaviour.chunkBytes, behaviour.everySeconds)), response);
      return;
    case 'endless':
      response.writeHead(behaviour.status ?? 200, behaviour.headers);
      send(Readable.from(zeros(Number.POSITIVE_INFINITY)), response);
      return;
    case 'stall':
      return;
    case 'after':
      behaviour.moment.then(
        () => behave(behaviour.next, response),
        () => response.destroy(),
      );
      return;
    case 'stall_in_body':
      response.write(behaviour.bytes);
      return;
    case 'reset':
      response.writeHead(200, { 'content-length': behaviour.bytes.length + 1000 });
      response.write(behaviour.bytes, () => response.socket?.destroy());
      return;
    case 'gzip_bomb':
      response.writeHead(200, { 'content-encoding': 'gzip', 'content-type': 'image/png' });
      send(Readable.from(zeros(behaviour.decodedBytes)).pipe(createGzip()), response);
      return;
    case 'raw':
      response.socket?.end(behaviour.text);
      return;
    case undefined:
      response.writeHead(404, { 'content-type': 'text/plain' }).end('no such file');
  }
}

function send(source: Readable, response: http.ServerResponse): void {
  pipeline(source, response, () => {}); // ends early when the client disconnects
}

async function* trickle(chunkBytes: number, everySeconds: number) {
  while (true) {
    yield Buffer.alloc(chunkBytes);
    await delay(everySeconds * 1000);
  }
}

function* zeros(bytes: number) {
  const chunk = Buffer.alloc(64 * 1024);
  for (let sent = 0; sent < bytes; sent += chunk.length) yield chunk;
}
