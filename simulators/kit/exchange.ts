import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { type Fault, isExchangeFault } from './faults.ts';

/** A response of a simulated provider. */
export interface SimulatedResponse {
  status: number;
  headers?: Record<string, string>;
  /** Sent as JSON; `bytes` is sent as it is. */
  json?: unknown;
  bytes?: Uint8Array;
}

const HOUR_SECONDS = 3600;
const OVERSIZE_BYTES = 64 * 2 ** 20;

/** Looks like a proxy's page or like the first half of a truncated response. */
const UNREADABLE: SimulatedResponse = {
  status: 200,
  headers: { 'content-type': 'text/html' },
  bytes: Buffer.from('<html>{"id": "'),
};

/**
 * One HTTP exchange: `work` does what was requested, `refuse` makes the provider's error response.
 */
export interface Exchange {
  response: ServerResponse;
  work(): SimulatedResponse | Promise<SimulatedResponse>;
  refuse(fault: Fault): SimulatedResponse;
}

/** Responds to a request whose body was read, with the exchange fault among `faults`, if any. */
export async function respond(faults: Fault[], exchange: Exchange): Promise<void> {
  const { response, work, refuse } = exchange;
  const fault = faults.find(isExchangeFault);
  const seconds = fault?.seconds ?? HOUR_SECONDS;
  switch (fault?.kind) {
    case 'reset_before_body':
    case 'reset_after_body':
      return reset(response);
    case 'refuse':
      return send(response, refuse(fault));
    case 'drop_after_accepting':
      await work();
      return void response.socket?.destroy();
    case 'error_after_accepting':
      await work();
      return send(response, refuse({ ...fault, status: fault.status ?? 500 }));
    case 'duplicate': {
      const [, second] = await Promise.all([work(), work()]);
      return send(response, second);
    }
    case 'unreadable':
      await work();
      return send(response, UNREADABLE);
    case 'slow_headers':
      return sendLate(response, await work(), seconds);
    case 'slow_body':
      return sendHalf(response, await work(), seconds);
    case 'truncated_body':
      return sendHalf(response, await work(), null);
    case 'oversize_response':
      return send(response, oversized(await work()));
    case undefined:
      return send(response, await work());
  }
}

/** Resets the connection without doing what was requested. */
export function reset(response: ServerResponse): void {
  response.socket?.resetAndDestroy();
}

function send(response: ServerResponse, result: SimulatedResponse): void {
  const body = begin(response, result);
  response.end(body);
}

async function sendLate(
  response: ServerResponse,
  result: SimulatedResponse,
  seconds: number,
): Promise<void> {
  if (await waited(response, seconds)) send(response, result);
}

/**
 * Sends half of the body, and the rest after `seconds`; with null, closes the connection instead.
 */
async function sendHalf(
  response: ServerResponse,
  result: SimulatedResponse,
  seconds: number | null,
) {
  const body = begin(response, result);
  const half = Math.ceil(body.length / 2);
  await new Promise<void>((resolve) => response.write(body.subarray(0, half), () => resolve()));
  if (seconds === null) response.socket?.destroy();
  else if (await waited(response, seconds)) response.end(body.subarray(half));
}

/** Writes status and headers and returns the body. */
function begin(response: ServerResponse, { status, json, bytes, headers }: SimulatedResponse) {
  const body = bytes ?? Buffer.from(json === undefined ? '' : JSON.stringify(json));
  const type = bytes === undefined && { 'content-type': 'application/json' };
  response.writeHead(status, { ...type, ...headers, 'content-length': String(body.length) });
  return body;
}

function oversized(result: SimulatedResponse): SimulatedResponse {
  const body = result.bytes ?? Buffer.from(JSON.stringify(result.json ?? null));
  return { ...result, bytes: Buffer.concat([body, Buffer.alloc(OVERSIZE_BYTES, ' ')]) };
}

/** @returns false if the client disconnected before the time was over */
async function waited(response: ServerResponse, seconds: number): Promise<boolean> {
  const left = new AbortController();
  response.once('close', () => left.abort());
  return delay(seconds * 1000, true, { signal: left.signal, ref: false }).catch(() => false);
}
