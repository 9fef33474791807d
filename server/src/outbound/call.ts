import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, request as startRequest } from 'node:http';
import { isIP, connect as openTcp, type Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { connect as openTls } from 'node:tls';
import type { Client } from 'undici';
import { HEADERS_BYTES, keepClients, openClient } from './kept-clients.ts';

/** One HTTP call to a host that an operator configured: private addresses and http are allowed. */
export interface Call {
  url: string;
  method: string;
  headers: Record<string, string>;
  /** A stream needs a `content-length` header, and is read only as fast as the host takes it. */
  body?: Uint8Array | string | AsyncIterable<Uint8Array> | undefined;
  /**
   * From the first byte sent to the last byte of the response. DNS, connect and TLS together may
   * take as long, but at most 10 s.
   */
  timeoutSeconds: number;
  /**
   * Called once, when the connection is open and before the first byte is sent. If it returns
   * false, nothing is sent and the outcome is `not_sent`.
   */
  mayStillSend?: (() => boolean) | undefined;
  /** 1 MB when not given. */
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
 * How a call ended. `not_sent` is certain: no byte of the request was sent. After `unknown` the
 * host may have done what was requested. `bytesSent` counts what was written to the connection.
 */
export type CallOutcome =
  | CallResponse
  | { kind: 'not_sent'; cause: string }
  | { kind: 'unknown'; cause: string; bytesSent?: number | undefined };

export type CallOnce = (call: Call) => Promise<CallOutcome>;

const CONNECT_SECONDS = 10;
const RESPONSE_BYTES = 2 ** 20;

/**
 * Calls a host once: on a new connection, without a retry and without following redirects (a 3xx is
 * a response like any other). Never throws. Failures of DNS, connect and TLS are `not_sent`; every
 * later failure before a complete response is `unknown`.
 */
export async function callOnce(call: Call): Promise<CallOutcome> {
  const url = httpUrl(call);
  if (!url) return NO_URL;
  let socket: Socket;
  try {
    socket = await connect(url, call);
  } catch (failure) {
    return notSent(failure);
  }
  // A write to a closed connection fails only afterwards, with an unknown outcome. So this is
  // checked before the write.
  if (socket.destroyed || !socket.writable)
    return notSent('the host closed the connection before the request was sent');
  if (call.mayStillSend?.() === false) {
    socket.destroy();
    return notSent('the time to send was over');
  }
  return exchangeOnce(socket, url, call);
}

async function connect(url: URL, { timeoutSeconds, ca }: Call): Promise<Socket> {
  const seconds = Math.min(CONNECT_SECONDS, timeoutSeconds);
  const deadline = startDeadline(`not connected within ${seconds} s`, seconds);
  const socket = url.protocol === 'https:' ? tlsSocket(url, ca) : openTcp(addressOf(url));
  // once() reports the first error; without a listener, a later one would end the process
  socket.on('error', () => {});
  try {
    const event = url.protocol === 'https:' ? 'secureConnect' : 'connect';
    await once(socket, event, { signal: deadline.signal });
    return socket.setNoDelay(true);
  } catch (failure) {
    socket.destroy();
    throw deadline.signal.aborted ? deadline.signal.reason : failure;
  } finally {
    deadline.end();
  }
}

function tlsSocket(url: URL, ca: string | undefined): Socket {
  const address = addressOf(url);
  return openTls({
    ...address,
    ca,
    rejectUnauthorized: true, // also if NODE_TLS_REJECT_UNAUTHORIZED is 0
    servername: isIP(address.host) ? '' : address.host,
    ALPNProtocols: ['http/1.1'],
  });
}

function addressOf(url: URL): { host: string; port: number } {
  const port = url.port === '' ? { 'http:': 80, 'https:': 443 }[url.protocol] : Number(url.port);
  return { host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port: port ?? 443 };
}

async function exchangeOnce(socket: Socket, url: URL, call: Call): Promise<CallOutcome> {
  const deadline = responseDeadline(call);
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

async function send(
  socket: Socket,
  url: URL,
  call: Call,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const request = startRequest({
    createConnection: () => socket,
    signal,
    method: call.method,
    path: url.pathname + url.search,
    headers: { 'accept-encoding': 'identity', ...call.headers, host: url.host },
    maxHeaderSize: HEADERS_BYTES,
  });
  // Without a listener an error would end the process. It is thrown below or by readBody.
  request.on('error', () => {});
  // The signal is needed: a 101 closes the connection without a 'response' or 'error' event.
  const responded = once(request, 'response', { signal });
  if (!isStream(call.body)) {
    request.end(call.body);
    return (await responded)[0];
  }
  // A stream that fails closes the request without an 'error' event. A response may come early.
  const sent = pipeline(call.body, request).then(() => responded);
  return (await Promise.race([responded, sent]))[0];
}

function isStream(body: Call['body']): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && !(body instanceof Uint8Array);
}

/** @throws Error when the body is larger */
async function readBody(
  response: AsyncIterable<Uint8Array>,
  maxBytes = RESPONSE_BYTES,
): Promise<Uint8Array> {
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

/** Returns a signal that aborts when the time is over, and `end`, which stops the timer. */
function startDeadline(message: string, seconds: number) {
  const timeOver = new AbortController();
  const timer = setTimeout(() => timeOver.abort(new Error(message)), seconds * 1000);
  return { signal: timeOver.signal, end: () => clearTimeout(timer) };
}

function responseDeadline({ timeoutSeconds }: Call) {
  return startDeadline(`no complete response within ${timeoutSeconds} s`, timeoutSeconds);
}

const NO_URL: CallOutcome = { kind: 'not_sent', cause: 'the address is not an http URL' };

function httpUrl(call: Call): URL | undefined {
  const url = URL.parse(call.url);
  return url && /^https?:$/.test(url.protocol) ? url : undefined;
}

/** @param status if a response has begun */
function causeOf(failure: unknown, signal: AbortSignal, status: number | undefined): string {
  const reason = messageOf(signal.aborted ? signal.reason : failure);
  return status === undefined ? reason : `HTTP ${status}, but ${reason}`;
}

function notSent(failure: unknown): CallOutcome {
  return { kind: 'not_sent', cause: messageOf(failure) };
}

function messageOf(failure: unknown): string {
  if (!(failure instanceof Error)) return String(failure);
  const code = 'code' in failure ? String(failure.code) : '';
  return failure.message.includes(code) ? failure.message : `${code} ${failure.message}`.trim();
}

/**
 * Makes calls that are safe to repeat, such as reads, on kept-alive connections. If the host closes
 * a reused connection without a response, retries on a new one. Otherwise like callOnce: never
 * throws, follows no redirect, has one deadline. Only for calls without a body.
 */
export function createKeptCalls(): CallOnce {
  const kept = keepClients();
  return async (call) => {
    const url = httpUrl(call);
    if (!url) return NO_URL;
    const deadline = responseDeadline(call);
    const { signal } = deadline;
    const key = `${url.origin} ${call.ca ?? ''}`;
    const attempt = async (client: Client) => {
      const attempted = await exchangeOn(client, url, call, signal);
      if (attempted.outcome.kind === 'responded') kept.keep(key, client);
      else client.destroy().catch(() => {});
      return attempted;
    };
    try {
      const open = kept.take(key);
      const first = open && (await attempt(open));
      if (first && (first.hasBegun || signal.aborted)) return first.outcome;
      const rules = { connectSeconds: CONNECT_SECONDS, connect: { ca: call.ca } };
      return (await attempt(openClient(url, rules))).outcome;
    } finally {
      deadline.end();
    }
  };
}

/** `hasBegun`: whether a response arrived, at least in part. */
async function exchangeOn(
  client: Client,
  url: URL,
  call: Call,
  signal: AbortSignal,
): Promise<{ outcome: CallOutcome; hasBegun: boolean }> {
  let status: number | undefined;
  try {
    const response = await client.request({
      method: call.method as 'GET',
      path: url.pathname + url.search,
      headers: { 'accept-encoding': 'identity', ...call.headers },
      signal,
    });
    status = response.statusCode;
    const body = await readBody(response.body, call.maxResponseBytes);
    const headers = textHeaders(response.headers);
    return { outcome: { kind: 'responded', status, headers, body }, hasBegun: true };
  } catch (failure) {
    const cause = causeOf(failure, signal, status);
    return { outcome: { kind: 'unknown', cause }, hasBegun: status !== undefined };
  }
}
