import type { Call, CallOnce, CallOutcome, CallResponse } from '../../outbound/call.ts';
import { parseJson } from '../kit/remote.ts';

/**
 * The address of one ComfyUI server. Several servers behind one address would not know each other's
 * jobs.
 */
export interface ServerAddress {
  /** Without a slash at its end. */
  baseUrl: string;
  /** For a proxy that guards the server: ComfyUI itself has no authentication. */
  authorization: string | undefined;
  timeoutSeconds: number;
  call: CallOnce;
}

interface ServerRequest {
  method: 'GET' | 'HEAD' | 'POST';
  /** With the query. */
  path: string;
  body?: { headers: Record<string, string>; bytes: Call['body'] };
  mayStillSend?: () => boolean;
}

/** The server gave no usable response. `status` is its HTTP status, if there was one. */
export class ServerError extends Error {
  override name = 'ServerError';
  readonly status: number | undefined;

  constructor(cause: string, status?: number) {
    super(cause);
    this.status = status;
  }
}

/** `/queue` and `/history/{id}` contain whole graphs; a few hundred waiting jobs must fit. */
const RESPONSE_BYTES = 64 * 2 ** 20;

export function callServer(server: ServerAddress, request: ServerRequest): Promise<CallOutcome> {
  const { body } = request;
  return server.call({
    url: server.baseUrl + request.path,
    method: request.method,
    headers: { ...body?.headers, ...authorizationOf(server) },
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
 * Sends a request that changes nothing or can be repeated.
 * @throws ServerError when no complete response came
 */
export async function askServer(
  server: ServerAddress,
  request: ServerRequest,
): Promise<CallResponse> {
  const response = await callServer(server, request);
  if (response.kind === 'responded') return response;
  throw new ServerError(`${request.path}: ${response.cause}`);
}

/**
 * Gets the JSON of a 200.
 * @throws ServerError for any other response
 */
export async function getServerJson(server: ServerAddress, path: string): Promise<unknown> {
  const response = await askServer(server, { method: 'GET', path });
  const body = parseJson(response.body);
  if (response.status === 200 && body !== undefined) return body;
  throw unexpectedResponse(path, response.status);
}

export function unexpectedResponse(path: string, status: number): ServerError {
  return new ServerError(
    `${path}: the response, HTTP ${status}, is not in ComfyUI's format`,
    status,
  );
}
