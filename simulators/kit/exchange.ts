import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { type Fault, isExchangeFault } from './faults.ts';

/** An answer of a simulated provider. */
export interface Answer {
  status: number;
  headers?: Record<string, string>;
  /** Sent as JSON; `bytes` is sent as it is. */
  json?: unknown;
  bytes?: Uint8Array;
}

const HOUR_SECONDS = 3600;
const OVERSIZE_BYTES = 64 * 2 ** 20;

/** Reads like a proxy's page, and like the first half of an answer that was cut. */
const UNREADABLE: Answer = {
  status: 200,
  headers: { 'content-type': 'text/html' },
  bytes: Buffer.from('<html>{"id": "'),
};

/** How an exchange goes on: `work` does what was asked of the provider, `refuse` words an error. */
export interface Exchange {
  response: ServerResponse;
  work(): Answer | Promise<Answer>;
  refuse(fault: Fault): Answer;
}

/** Answers one request whose body was read, with the exchange fault among `faults`, if any. */
export async function answerWith(faults: Fault[], exchange: Exchange): Promise<void> {
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
    case 'unreadable':
      await work();
      return send(response, UNREADABLE);
    case 'slow_headers':
      return sendLate(response, await work(), seconds);
    case 'slow_body':
      return sendHalf(response, await work(), seconds);
    case 'truncated_body':
      return sendHalf(response, await work(), null);
    case 'oversize_answer':
      return send(response, swollen(await work()));
    case undefined:
      return send(response, await work());
  }
}

/** Ends the connection with a reset: what was asked stays undone. */
export function reset(response: ServerResponse): void {
  response.socket?.resetAndDestroy();
}

function send(response: ServerResponse, answer: Answer): void {
  const body = begin(response, answer);
  response.end(body);
}

async function sendLate(response: ServerResponse, answer: Answer, seconds: number): Promise<void> {
  if (await waited(response, seconds)) send(response, answer);
}

/** Half of the body, and the rest after `seconds`; null closes the connection instead. */
async function sendHalf(response: ServerResponse, answer: Answer, seconds: number | null) {
  const body = begin(response, answer);
  const half = Math.ceil(body.length / 2);
  await new Promise<void>((resolve) => response.write(body.subarray(0, half), () => resolve()));
  if (seconds === null) response.socket?.destroy();
  else if (await waited(response, seconds)) response.end(body.subarray(half));
}

/** Writes nothing yet, but settles status and headers. */
function begin(response: ServerResponse, answer: Answer): Uint8Array {
  const isJson = answer.bytes === undefined;
  const body = answer.bytes ?? Buffer.from(isGiven(answer.json) ? JSON.stringify(answer.json) : '');
  const type: Record<string, string> = isJson ? { 'content-type': 'application/json' } : {};
  const headers = { ...type, ...answer.headers, 'content-length': String(body.length) };
  response.writeHead(answer.status, headers);
  return body;
}

function isGiven(json: unknown): boolean {
  return json !== undefined;
}

function swollen(answer: Answer): Answer {
  const body = answer.bytes ?? Buffer.from(JSON.stringify(answer.json ?? null));
  return { ...answer, bytes: Buffer.concat([body, Buffer.alloc(OVERSIZE_BYTES, ' ')]) };
}

/** False when the client left before the time was over. */
async function waited(response: ServerResponse, seconds: number): Promise<boolean> {
  const left = new AbortController();
  response.once('close', () => left.abort());
  return delay(seconds * 1000, true, { signal: left.signal, ref: false }).catch(() => false);
}
