import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, request as startRequest } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { Agent, buildConnector, type Client, type Dispatcher, errors } from 'undici';

/** One HTTP call to a host that an operator configured: private addresses and http are allowed. */
export interface Call {
  url: string;
  method: string;
  headers: Record<string, string>;
  /** A stream needs a `content-length` header, and is read only as fast as the host takes it. */
  body?: Uint8Array | string | AsyncIterable<Uint8Array> | undefined;
  /**
   * From the first byte sent to the last byte of the response. Connecting before that may take as
   * long again, but at most 10 s.
   */
  timeoutSeconds: number;
  /** Called once, when the connection is open; false: nothing is sent (`not_sent`). */
  mayStillSend?: (() => boolean) | undefined;
  maxResponseBytes?: number | undefined;
  /** Certificates (PEM) trusted instead of the system's and `NODE_EXTRA_CA_CERTS`. */
  ca?: string | undefined;
}

/** Header names are in lower case. */
export interface CallResponse {
  kind: 'responded';
  status: number;
  headers: Record<string, string>;
  body: Uint8Array;
}

/**
 * `not_sent` is certain: no byte of the request was sent. After `unknown` the host may have done
 * what was requested. `bytesSent` counts what was written to the connection.
 */
export type CallOutcome =
  | CallResponse
  | { kind: 'not_sent'; cause: string }
  | { kind: 'unknown'; cause: string; bytesSent?: number | undefined };

/** Makes a call: {@link callOnce}, or one of {@link createPooledCalls}. */
export type MakeCall = (call: Call) => Promise<CallOutcome>;

/** HTTP/1.1, without undici's own timeouts after the connect. */
export const CLIENT_OPTIONS = {
  allowH2: false,
  maxHeaderSize: 16 * 1024,
  headersTimeout: 0,
  bodyTimeout: 0,
} satisfies Client.Options;

const CONNECT_SECONDS = 10;
const RESPONSE_BYTES = 2 ** 20;
const NO_URL: CallOutcome = { kind: 'not_sent', cause: 'the address is not an http URL' };

/**
 * Calls a host once: on a new connection, without a retry or redirect (a 3xx is a response). Never
 * throws. Failures of DNS, connect and TLS are `not_sent`; every later failure before a complete
 * response is `unknown`.
 */
export async function callOnce(call: Call): Promise<CallOutcome> {
  const url = httpUrl(call);
  if (!url) return NO_URL;
  let socket: Socket;
  try {
    socket = await connect(url, call);
  } catch (failure) {
    return { kind: 'not_sent', cause: messageOf(failure) };
  }
  // A write to the closed connection would fail too late: the outcome would be `unknown`.
  if (!socket.writable) {
    const cause = 'the host closed the connection before the request was sent';
    return { kind: 'not_sent', cause };
  }
  if (call.mayStillSend?.() === false) {
    socket.destroy();
    return { kind: 'not_sent', cause: 'the time to send was over' };
  }
  return exchangeOnce(socket, url, call);
}

/** @throws the failure of DNS, the connect or TLS */
function connect(url: URL, call: Call): Promise<Socket> {
  const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const target = { hostname, host: url.host, protocol: url.protocol, port: url.port };
  return new Promise((resolve, reject) => {
    buildConnector(connectOptions(call))(target, (failure, socket) =>
      socket ? resolve(socket) : reject(failure),
    );
  });
}

function connectOptions({ timeoutSeconds, ca }: Pick<Call, 'timeoutSeconds' | 'ca'>) {
  return {
    allowH2: false,
    maxCachedSessions: 0,
    timeout: Math.min(CONNECT_SECONDS, timeoutSeconds) * 1000,
    ca,
    rejectUnauthorized: true, // also if NODE_TLS_REJECT_UNAUTHORIZED is 0
  };
}

async function exchangeOnce(socket: Socket, url: URL, call: Call): Promise<CallOutcome> {
  const deadline = startDeadline(call);
  let response: IncomingMessage | undefined;
  try {
    response = await send(socket, url, call, deadline.signal);
    const body = await readBody(response, call.maxResponseBytes);
    if (!response.complete) throw new Error('its body ended early');
    const status = response.statusCode ?? 0;
    return { kind: 'responded', status, headers: textHeaders(response.headers), body };
  } catch (failure) {
    const cause = causeOf(failure, deadline.signal, response?.statusCode);
    return { kind: 'unknown', cause, bytesSent: socket.bytesWritten };
  } finally {
    deadline.end();
    socket.destroy();
  }
}

/** undici isn't used here: it fails on an unexpected 100. */
async function send(socket: Socket, url: URL, call: Call, signal: AbortSignal) {
  const request = startRequest({
    createConnection: () => socket,
    signal,
    method: call.method,
    path: url.pathname + url.search,
    headers: { 'accept-encoding': 'identity', ...call.headers, host: url.host },
    maxHeaderSize: CLIENT_OPTIONS.maxHeaderSize,
  });
  // Without a listener an error would end the process. It is thrown below or by readBody.
  request.on('error', () => {});
  // The signal is needed: a 101 closes the connection without a 'response' or 'error' event.
  const responded = once(request, 'response', { signal });
  if (!isStream(call.body)) {
    request.end(call.body);
    return (await responded)[0] as IncomingMessage;
  }
  // A stream that fails closes the request without an 'error' event. The response may come before
  // the stream has been sent.
  const sent = pipeline(call.body, request).then(() => responded);
  return (await Promise.race([responded, sent]))[0] as IncomingMessage;
}

/**
 * Makes calls without a body that are safe to repeat, such as reads, on kept-alive connections. If
 * the host closes one without a response, the call is made again, once: the host may have closed it
 * while it was idle. Other differences from callOnce: the deadline includes connecting, a failure
 * to connect is `unknown`, and `mayStillSend` and `ca` are ignored.
 */
export function createPooledCalls(): MakeCall {
  const agent = openAgent(); // never closed: its idle connections end, and keep no process alive
  return async (call) => {
    const url = httpUrl(call);
    if (!url) return NO_URL;
    const deadline = startDeadline(call);
    const first = await exchange(agent, url, call, deadline.signal);
    const last = first.isClosed ? await exchange(agent, url, call, deadline.signal) : first;
    deadline.end();
    return last.outcome;
  };
}

/** How long an idle connection stays open. Its host may announce an earlier close. */
export const IDLE_MS = 20_000;

function openAgent(): Agent {
  const keepAlive = { keepAliveTimeout: IDLE_MS, keepAliveMaxTimeout: IDLE_MS };
  const connect = connectOptions({ timeoutSeconds: CONNECT_SECONDS });
  return new Agent({ ...CLIENT_OPTIONS, ...keepAlive, connect });
}

/** @returns the outcome; `isClosed`: the host closed the connection before its response began */
async function exchange(agent: Agent, url: URL, call: Call, signal: AbortSignal) {
  let status: number | undefined;
  try {
    const response = await agent.request({
      origin: url.origin,
      method: call.method as Dispatcher.HttpMethod,
      path: url.pathname + url.search,
      headers: { 'accept-encoding': 'identity', ...call.headers },
      signal,
    });
    status = response.statusCode;
    const body = await readBody(response.body, call.maxResponseBytes);
    const headers = textHeaders(response.headers);
    const outcome: CallOutcome = { kind: 'responded', status, headers, body };
    return { outcome, isClosed: false };
  } catch (failure) {
    const outcome: CallOutcome = { kind: 'unknown', cause: causeOf(failure, signal, status) };
    const isClosed = status === undefined && !signal.aborted && isDisconnect(failure);
    return { outcome, isClosed };
  }
}

function isDisconnect(failure: unknown): boolean {
  const code = failure instanceof Error && 'code' in failure ? failure.code : undefined;
  return failure instanceof errors.SocketError || code === 'ECONNRESET' || code === 'EPIPE';
}

function isStream(body: Call['body']): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && !(body instanceof Uint8Array);
}

async function readBody(response: AsyncIterable<Uint8Array>, maxBytes = RESPONSE_BYTES) {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of response) {
    sizeBytes += chunk.length;
    if (sizeBytes > maxBytes) throw new Error(`its body is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function textHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const entries = Object.entries(headers);
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value ?? '')]));
}

function startDeadline({ timeoutSeconds }: Call) {
  const timeOver = new AbortController();
  const reason = new Error(`no complete response within ${timeoutSeconds} s`);
  const timer = setTimeout(() => timeOver.abort(reason), timeoutSeconds * 1000);
  return { signal: timeOver.signal, end: () => clearTimeout(timer) };
}

function httpUrl(call: Call): URL | undefined {
  const url = URL.parse(call.url);
  return url && /^https?:$/.test(url.protocol) ? url : undefined;
}

/** @param status undefined if no response has begun */
function causeOf(failure: unknown, signal: AbortSignal, status: number | undefined): string {
  const reason = messageOf(signal.aborted ? signal.reason : failure);
  return status === undefined ? reason : `HTTP ${status}, but ${reason}`;
}

function messageOf(failure: unknown): string {
  if (!(failure instanceof Error)) return String(failure);
  const code = 'code' in failure ? String(failure.code) : '';
  return failure.message.includes(code) ? failure.message : `${code} ${failure.message}`.trim();
}
