import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { closeServer, listenOn } from '../kit/http-server.ts';
import { createS3Faults, type S3Fault } from './faults.ts';
import { checkBodyHeaders, readResponse, receivedObject, type S3Object } from './objects.ts';
import { errorBody, S3Refusal } from './refusal.ts';
import { type S3Credentials, verifySignature } from './signature.ts';

export type SimulatedS3 = Awaited<ReturnType<typeof startSimulatedS3>>;

interface SimulatedS3Options {
  buckets: string[];
  credentials: S3Credentials[];
  port?: number;
}

type State = ReturnType<typeof stateOf>;

/** What the server holds. */
function stateOf({ buckets, credentials }: SimulatedS3Options) {
  return {
    /** The objects of each bucket by their keys; add or remove buckets as a test needs them. */
    buckets: new Map(buckets.map((name) => [name, new Map<string, S3Object>()])),
    faults: createS3Faults(),
    /** Who may use it; add others as a test needs them. */
    credentials,
    /** The access keys that are refused as expired. */
    expired: new Set<string>(),
    /** Each request that arrived, such as `PUT /bucket/key`. */
    requests: [] as string[],
    aheadSeconds: 0,
    isConditional: true,
  };
}

/**
 * Starts an S3 server that keeps its objects in memory. It has the part of S3 that this service
 * needs: PUT, GET, HEAD and DELETE of whole objects.
 */
export async function startSimulatedS3(options: SimulatedS3Options) {
  const state = stateOf(options);
  const server = createServer((request, response) => {
    response.on('error', () => {}); // a client may disconnect at any time
    const exchange = { state, request, response };
    serve(exchange).catch((error: unknown) => refuse(exchange, error));
  });
  server.on('checkContinue', (request, response) => {
    response.writeContinue();
    server.emit('request', request, response);
  });
  const url = await listenOn(server, { port: options.port });
  return {
    ...state,
    /** `http://127.0.0.1:PORT` */
    url,
    /** Sets the server's clock ahead of (or behind) the machine's. */
    setClock(seconds: number) {
      state.aheadSeconds = seconds;
    },
    /** Whether a PUT with If-None-Match is refused (501), as servers without it do. */
    setConditional(isKnown: boolean) {
      state.isConditional = isKnown;
    },
    [Symbol.asyncDispose]: () => closeServer(server),
  };
}

interface Exchange {
  state: State;
  request: IncomingMessage;
  response: ServerResponse;
}

const REFUSALS: Partial<Record<S3Fault['kind'], [status: number, code: string]>> = {
  slow_down: [503, 'SlowDown'],
  expired: [400, 'ExpiredToken'],
  no_bucket: [404, 'NoSuchBucket'],
  denied: [403, 'AccessDenied'],
};

async function serve(exchange: Exchange): Promise<void> {
  const { state, request } = exchange;
  const url = new URL(request.url ?? '/', 'http://simulator');
  const { method = '', headers } = request;
  state.requests.push(`${method} ${url.pathname}`);
  const fault = state.faults.take(method);
  if (fault?.kind === 'hang') return void request.resume();
  if (fault?.kind === 'slow') await delay(1000);
  const refusal = fault && REFUSALS[fault.kind];
  if (refusal) throw new S3Refusal(...refusal);
  const payload = verifySignature(request, url, { ...state, nowMs: nowMs(state) });
  const [bucket = '', ...segments] = url.pathname.slice(1).split('/').map(decodeURIComponent);
  const objects = state.buckets.get(bucket);
  if (!objects) throw new S3Refusal(404, 'NoSuchBucket');
  const key = segments.join('/');
  if (method === 'PUT') return put(exchange, objects, { key, payload, fault });
  if (method === 'DELETE') {
    objects.delete(key);
    return send(exchange, { status: 204 }, fault);
  }
  const object = objects.get(key);
  if (method !== 'GET' && method !== 'HEAD') throw new S3Refusal(405, 'MethodNotAllowed');
  if (!object) throw new S3Refusal(404, 'NoSuchKey');
  const { bytes, ...rest } = readResponse(object, headers, url.searchParams);
  return send(exchange, { ...rest, ...(method === 'GET' && { bytes }) }, fault);
}

async function put(
  exchange: Exchange,
  objects: Map<string, S3Object>,
  { key, payload, fault }: { key: string; payload: string; fault: S3Fault | undefined },
): Promise<void> {
  const { state, request } = exchange;
  const { headers } = request;
  checkBodyHeaders(headers, payload);
  const isNew = headers['if-none-match'] === '*';
  if (isNew && !state.isConditional) throw new S3Refusal(501, 'NotImplemented');
  if (fault?.kind === 'cut') return void request.once('data', () => request.socket.destroy());
  const bytes = await buffer(request);
  const object = receivedObject(
    fault?.kind === 'altered' ? altered(bytes) : bytes,
    headers,
    payload,
  );
  // No await between the look and the set: of several puts at once, one succeeds.
  if (isNew && objects.has(key)) throw new S3Refusal(412, 'PreconditionFailed');
  objects.set(key, object);
  send(exchange, { status: 200, headers: { etag: object.etag } }, fault);
}

function send(
  { state, response }: Exchange,
  { status, headers, bytes }: { status: number; headers?: OutgoingHttpHeaders; bytes?: Buffer },
  fault: S3Fault | undefined,
): void {
  if (fault?.kind === 'lost_response') return void response.socket?.destroy();
  response.writeHead(status, { ...headers, date: dateOf(state) });
  if (!bytes) return void response.end();
  if (fault?.kind === 'cut') {
    const half = bytes.subarray(0, Math.ceil(bytes.length / 2));
    return void response.write(half, () => response.socket?.destroy());
  }
  response.end(fault?.kind === 'altered' ? altered(bytes) : bytes);
}

function refuse({ state, request, response }: Exchange, error: unknown): void {
  if (response.headersSent || request.socket.destroyed) return void response.destroy();
  const refusal = error instanceof S3Refusal ? error : new S3Refusal(500, 'InternalError');
  request.resume(); // or a large body hides the response
  const headers = { 'content-type': 'application/xml', date: dateOf(state) };
  response.writeHead(refusal.status, headers);
  response.end(request.method === 'HEAD' ? undefined : errorBody(refusal));
}

function altered(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  if (copy.length > 0) copy[0] = (copy[0] ?? 0) ^ 1;
  return copy;
}

function nowMs({ aheadSeconds }: State): number {
  return Date.now() + aheadSeconds * 1000;
}

function dateOf(state: State): string {
  return new Date(nowMs(state)).toUTCString();
}
