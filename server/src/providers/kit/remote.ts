import {
  type CallOnce,
  type CallResponse,
  callOnce,
  createKeptCalls,
} from '../../outbound/call.ts';
import type { AdapterDeps } from '../definition.ts';
import type { Callback, SubmitOutcome } from '../provider.ts';

/** What the adapter of a provider with an HTTP API uses. */
export interface RemoteOptions
  extends Pick<AdapterDeps, 'guardedFetch' | 'submitTimeoutSeconds' | 'now'>,
    Partial<Pick<AdapterDeps, 'nextListTurn'>> {
  /** For submits and cancels: each on a connection of its own, so that its outcome is certain. */
  call: CallOnce;
  /** For reads, which may be made twice: on connections that stay open. */
  readCall: CallOnce;
  /** For reads and for each page of a list. */
  readTimeoutSeconds?: number | undefined;
  /** The largest result that is fetched; OUTPUT_BYTES if not given. */
  maxOutputBytes?: number | undefined;
}

/** The same, of the service. */
export function remoteOf(deps: AdapterDeps): RemoteOptions {
  const { guardedFetch, submitTimeoutSeconds, now, nextListTurn } = deps;
  const calls = { call: callOnce, readCall: createKeptCalls() };
  return { ...calls, guardedFetch, submitTimeoutSeconds, now, nextListTurn };
}

/** A callback that proves nothing, and why. */
export function forged(cause: string): Callback {
  return { kind: 'forged', cause };
}

/** A page of a list can hold a hundred jobs with everything that was sent for them. */
const RESPONSE_BYTES = 16 * 2 ** 20;

/** A response with its body parsed as JSON; `body` is undefined if it is not JSON. */
export interface JsonResponse {
  status: number;
  headers: CallResponse['headers'];
  body: unknown;
}

interface Submit {
  url: string;
  headers?: Record<string, string>;
  json: unknown;
  mayStillSend(): boolean;
}

export type Api = ReturnType<typeof openApi>;

/**
 * The calls to a provider with an HTTP API, each one try.
 * @param headers of each call, such as the API key
 */
export function openApi(options: RemoteOptions, headers: Record<string, string> = {}) {
  const { call, readCall, submitTimeoutSeconds } = options;
  const { readTimeoutSeconds: timeoutSeconds = 20 } = options;
  async function request(send: CallOnce, method: string, url: string) {
    const maxResponseBytes = RESPONSE_BYTES;
    const response = await send({ url, method, headers, timeoutSeconds, maxResponseBytes });
    if (response.kind === 'responded') return withJson(response);
    throw new Error(`No response from the provider: ${response.cause}`);
  }
  return {
    /** @throws Error when no complete response came: a temporary failure */
    get: (url: string) => request(readCall, 'GET', url),
    /**
     * Makes a call without a body, which may be made twice.
     * @throws Error when no complete response came: what the call did is not known
     */
    request: (method: 'POST' | 'PUT' | 'DELETE', url: string) => request(call, method, url),
    /** Awaited before each page of a list, also the first: a turn of the `find` budget. */
    nextListTurn: options.nextListTurn ?? (async () => {}),
    /** @param outcomeOf what a complete response to the submit says */
    async submit(
      { url, headers: more, json, mayStillSend }: Submit,
      outcomeOf: (response: JsonResponse) => SubmitOutcome,
    ): Promise<SubmitOutcome> {
      const response = await call({
        url,
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', ...more },
        body: JSON.stringify(json),
        timeoutSeconds: submitTimeoutSeconds,
        mayStillSend,
      });
      return response.kind === 'responded' ? outcomeOf(withJson(response)) : response;
    },
  };
}

function withJson({ status, headers, body }: CallResponse): JsonResponse {
  return { status, headers, body: parseJson(body) };
}

export function isSuccess({ status }: { status: number }): boolean {
  return status >= 200 && status < 300;
}

/** The parsed body; undefined if it is not JSON in UTF-8. */
export function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

/** The seconds of a Retry-After header; undefined if it holds a date. */
export function retryAfterSeconds(headers: CallResponse['headers']): number | undefined {
  const text = headers['retry-after']?.trim() ?? '';
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
}

/** Statuses below 500 after which the request may or may not have been processed. */
const TIMEOUTS = new Set([408, 425, 499]);

/**
 * Whether the outcome of a submit is unknown after this status: the status does not prove a
 * rejection, even if the body reports an error. A 2xx or 3xx without a job id is unknown too.
 */
export function isOutcomeUnknown(status: number): boolean {
  return status < 400 || status >= 500 || TIMEOUTS.has(status);
}
