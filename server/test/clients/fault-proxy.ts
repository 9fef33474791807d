import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { reset, respond, type SimulatedResponse } from '../../../simulators/kit/exchange.ts';
import { createFaultSource, type Fault, type Plan } from '../../../simulators/kit/faults.ts';
import { closeServer, listenOn } from '../../../simulators/kit/http-server.ts';

/** The calls of the API, by method and path. Faults are planned for them by name. */
const CALLS: [name: string, pattern: RegExp][] = [
  ['create', /^POST \/api\/v1\/video\/generations$/],
  ['quote', /^POST \/api\/v1\/video\/quotes$/],
  ['upload', /^POST \/api\/v1\/uploads$/],
  ['cancel', /^POST \/api\/v1\/tasks\/[^/]+\/cancel$/],
  ['read', /^GET \/api\/v1\/tasks\/[^/]+$/],
  ['list', /^GET \/api\/v1\/tasks$/],
  ['credits', /^GET \/api\/v1\/credits$/],
  ['models', /^GET \/api\/v1\/models$/],
  ['media', /^GET \/media\//],
];

/** A request that arrived at the proxy. */
interface ProxiedRequest {
  call: string;
  idempotencyKey: string | undefined;
}

/** A proxy in front of the service that loses, cuts, delays and doubles what passes. */
export interface FaultProxy extends AsyncDisposable {
  /** `http://127.0.0.1:PORT` */
  url: string;
  requests: ProxiedRequest[];
  plan(plan: Plan): void;
  /** Removes the plans that are left. */
  clear(): void;
}

interface FaultProxyOptions {
  /** The service, such as `http://127.0.0.1:8080`. */
  target: string;
  plans?: Plan[];
  /** Which share of the requests gets a fault that is drawn by the seed. */
  rate?: number;
  seed?: number;
}

/** Faults to draw from. All but the first have their effect. */
const ANY_FAULT: Fault[] = [
  { kind: 'reset_after_body' },
  { kind: 'drop_after_accepting' },
  { kind: 'truncated_body' },
  { kind: 'unreadable' },
  { kind: 'error_after_accepting', status: 503 },
  { kind: 'error_after_accepting', status: 500 },
  { kind: 'slow_headers', seconds: 0.5 },
  { kind: 'duplicate' },
];

/** Faults of a video: what is wrong with the bytes themselves, a client can't know. */
const MEDIA_FAULTS = ANY_FAULT.filter(({ kind }) => kind !== 'unreadable');

export async function openFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const { target, plans = [], rate = 0, seed = 1 } = options;
  const drawn = Object.fromEntries(CALLS.map(([name]) => [name, ANY_FAULT]));
  drawn.media = MEDIA_FAULTS;
  const faults = createFaultSource({ rate, seed, drawn });
  for (const plan of plans) faults.add(plan);
  const requests: ProxiedRequest[] = [];

  const serve = async (received: IncomingMessage, response: ServerResponse) => {
    const url = received.url ?? '/';
    const call = nameOf(received);
    const key = received.headers['idempotency-key'];
    requests.push({ call, idempotencyKey: key?.toString() });
    if (faults.takeBeforeBody(call, url)) return reset(response);
    const body = translated(await buffer(received), proxyUrl, target);
    const sent = { received, response, target, body };
    const work = async () => {
      const { bytes, ...rest } = await forward(sent);
      return { ...rest, bytes: translated(bytes, target, proxyUrl) };
    };
    await respond(faults.take(call, url + body), { response, work, refuse });
  };
  const server = createServer((received, response) => {
    response.on('error', () => {}); // a client may disconnect at any time
    serve(received, response).catch(() => response.destroy());
  });
  server.keepAliveTimeout = 1000;
  const proxyUrl = await listenOn(server);
  return {
    url: proxyUrl,
    requests,
    plan: (plan) => faults.add(plan),
    clear: () => void faults.clear(),
    [Symbol.asyncDispose]: () => closeServer(server),
  };
}

function nameOf({ method, url = '/' }: IncomingMessage): string {
  const line = `${method} ${url.split('?', 1)}`;
  return CALLS.find(([, pattern]) => pattern.test(line))?.[0] ?? 'other';
}

/** JSON with the address of the other side of the proxy. Files are left as they are. */
export function translated(bytes: Buffer, from: string, to: string): Buffer {
  const isJson = bytes[0] === '{'.charCodeAt(0);
  return isJson ? Buffer.from(bytes.toString().replaceAll(from, to)) : bytes;
}

interface Forwarded {
  received: IncomingMessage;
  response: ServerResponse;
  target: string;
  body: Buffer;
}

export async function forward({ received, response, target, body }: Forwarded) {
  const { method, url = '/' } = received;
  const headers: IncomingMessage['headers'] = Object.assign({}, received.headers, {
    'content-length': String(body.length),
  });
  for (const name of ['host', 'connection', 'transfer-encoding']) delete headers[name];
  const sent = request(new URL(url, target), { method, headers, agent: false });
  // A read whose client is gone would keep one of its places.
  if (method === 'GET') response.once('close', () => sent.destroy());
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  sent.once('response', resolve).once('error', reject).end(body);
  const answer = await promise;
  const bytes = await buffer(answer);
  return { status: answer.statusCode ?? 502, headers: singleHeaders(answer), bytes };
}

/** The headers for a body of known length. */
function singleHeaders({ headers }: IncomingMessage): Record<string, string> {
  const dropped = ['connection', 'keep-alive', 'transfer-encoding', 'content-length'];
  const kept = Object.entries(headers).filter(([name]) => !dropped.includes(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
}

/** An error as the service or a proxy in front of it would send it. */
function refuse(fault: Fault): SimulatedResponse {
  const { status = 503, code = 'service_busy', message = 'A fault.' } = fault;
  const { retryAfterSeconds = 0, retryAfterIsDate = false } = fault;
  const date = new Date(Date.now() + 1000 * retryAfterSeconds).toUTCString();
  const headers = {
    'retry-after': retryAfterIsDate ? date : String(retryAfterSeconds),
    ...(status < 400 && { location: 'https://moved.example.com/api/v1/video/generations' }),
  };
  return { status, headers, json: { error: { code, message } } };
}
