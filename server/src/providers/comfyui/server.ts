import type { CallOnce, CallOutcome, CallResponse } from '../../outbound/call.ts';
import { parseJson } from '../kit/json-call.ts';

/** How to reach the one ComfyUI server: several behind one address would not know of each other. */
export interface ServerAddress {
  /** Without a slash at its end. */
  baseUrl: string;
  /** For a proxy that guards the server: ComfyUI itself asks for nothing. */
  authorization: string | undefined;
  timeoutSeconds: number;
  call: CallOnce;
}

export interface ServerRequest {
  method: 'GET' | 'HEAD' | 'POST';
  /** With its query. */
  path: string;
  body?: { contentType: string; bytes: Uint8Array | string };
  mayStillSend?: () => boolean;
}

/** The server gave no answer that can be used. `status` is what it answered, if anything. */
export class ServerTrouble extends Error {
  override name = 'ServerTrouble';
  readonly status: number | undefined;

  constructor(cause: string, status?: number) {
    super(cause);
    this.status = status;
  }
}

/** `/queue` and `/history/{id}` repeat whole graphs; a few hundred waiting jobs must fit. */
const RESPONSE_BYTES = 64 * 2 ** 20;

export function callServer(server: ServerAddress, request: ServerRequest): Promise<CallOutcome> {
  const { body } = request;
  const type: Record<string, string> = body ? { 'content-type': body.contentType } : {};
  return server.call({
    url: server.baseUrl + request.path,
    method: request.method,
    headers: { ...type, ...authorizationOf(server) },
    body: body?.bytes,
    timeoutSeconds: server.timeoutSeconds,
    mayStillSend: request.mayStillSend,
    maxResponseBytes: RESPONSE_BYTES,
  });
}

export function authorizationOf(server: ServerAddress): Record<string, string> {
  return server.authorization === undefined ? {} : { authorization: server.authorization };
}

/**
 * Asks, with a call that changes nothing or can be made twice.
 * @throws ServerTrouble when no whole answer came
 */
export async function askServer(
  server: ServerAddress,
  request: ServerRequest,
): Promise<CallResponse> {
  const response = await callServer(server, request);
  if (response.kind === 'responded') return response;
  throw new ServerTrouble(`${request.path}: ${response.cause}`);
}

/**
 * Gets the JSON of a 200.
 * @throws ServerTrouble for every other answer
 */
export async function getServerJson(server: ServerAddress, path: string): Promise<unknown> {
  const response = await askServer(server, { method: 'GET', path });
  const body = parseJson(response.body);
  if (response.status === 200 && body !== undefined) return body;
  throw notUnderstood(path, response.status);
}

export function notUnderstood(path: string, status: number): ServerTrouble {
  return new ServerTrouble(`${path}: the answer, HTTP ${status}, is not ComfyUI's`, status);
}
