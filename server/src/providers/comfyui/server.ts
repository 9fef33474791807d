import { callOnce } from '../../outbound/call.ts';
import { type Api, openApi, type RemoteDeps, ServerError } from '../kit/remote.ts';

/** One ComfyUI server. Several servers behind one address would not know each other's jobs. */
export interface ComfyuiServer {
  /** Without a slash at its end. */
  baseUrl: string;
  /** Sent with each call: ComfyUI itself has no authentication, but a proxy in front of it may. */
  headers: Record<string, string>;
  api: Api;
}

/** `/queue` and `/history/{id}` contain whole graphs; a few hundred waiting jobs must fit. */
const RESPONSE_BYTES = 64 * 2 ** 20;

export function openServer(
  { baseUrl, authorization }: { baseUrl: string; authorization?: string | undefined },
  deps: Pick<RemoteDeps, 'submitTimeoutSeconds' | 'nextListTurn'>,
): ComfyuiServer {
  const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
  const api = openApi(deps, {
    headers,
    readCall: callOnce,
    readTimeoutSeconds: deps.submitTimeoutSeconds,
    maxResponseBytes: RESPONSE_BYTES,
  });
  return { baseUrl, headers, api };
}

/**
 * Gets the JSON of a 200.
 * @throws ServerError for any other response
 */
export async function getServerJson(server: ComfyuiServer, path: string): Promise<unknown> {
  const { status, body } = await server.api.get(server.baseUrl + path);
  if (status === 200 && body !== undefined) return body;
  throw unexpectedResponse(path, status);
}

export function unexpectedResponse(path: string, status: number): ServerError {
  return new ServerError(
    `${path}: the response, HTTP ${status}, is not in ComfyUI's format`,
    status,
  );
}
