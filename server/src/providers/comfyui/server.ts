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

export function openServer(
  { baseUrl, authorization }: { baseUrl: string; authorization?: string | undefined },
  deps: Pick<RemoteDeps, 'submitTimeoutSeconds' | 'nextListTurn'>,
): ComfyuiServer {
  const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
  const api = openApi(deps, {
    headers,
    readCall: callOnce,
    readTimeoutSeconds: deps.submitTimeoutSeconds,
  });
  return { baseUrl, headers, api };
}

export function unexpectedResponse(path: string, status: number): ServerError {
  return new ServerError(
    `${path}: the response, HTTP ${status}, is not in ComfyUI's format`,
    status,
  );
}
