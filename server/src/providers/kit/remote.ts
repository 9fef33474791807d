import { createHash } from 'node:crypto';
import {
  type Call,
  type CallOnce,
  type CallResponse,
  callOnce,
  createPooledCalls,
} from '../../outbound/call.ts';
import type { AdapterDeps } from '../definition.ts';
import type { Callback, SubmitOutcome } from '../provider.ts';
import { jobIdIn } from './job-id.ts';

/** The dependencies of an adapter with an HTTP API. */
export interface RemoteOptions
  extends Pick<AdapterDeps, 'guardedFetch' | 'submitTimeoutSeconds' | 'now'>,
    Partial<Pick<AdapterDeps, 'nextListTurn'>> {
  /** For submits and cancels: each on a connection of its own, so that its outcome is certain. */
  call: CallOnce;
  /** For reads, which are safe to repeat: on kept-alive connections. */
  readCall: CallOnce;
  /** For reads and for each page of a list. */
  readTimeoutSeconds?: number | undefined;
  /** The largest result that is fetched; OUTPUT_BYTES if not given. */
  maxOutputBytes?: number | undefined;
}

export function remoteOf(deps: AdapterDeps): RemoteOptions {
  const { guardedFetch, submitTimeoutSeconds, now, nextListTurn } = deps;
  const calls = { call: callOnce, readCall: createPooledCalls() };
  return { ...calls, guardedFetch, submitTimeoutSeconds, now, nextListTurn };
}

/**
 * A digest of everything that decides where a provider's jobs are created and found: its address,
 * the account's key, its models. See {@link Provider.identity}.
 */
export function identityOf(...decisive: unknown[]): string {
  return createHash('sha256').update(JSON.stringify(decisive)).digest('hex').slice(0, 24);
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

/** No usable response came. `status` is its HTTP status, if there was one. */
export class ServerError extends Error {
  override name = 'ServerError';
  readonly status: number | undefined;

  constructor(cause: string, status?: number) {
    super(cause);
    this.status = status;
  }
}

interface Submit {
  url: string;
  headers?: Record<string, string>;
  json: unknown;
  mayStillSend(): boolean;
  /** The field of a successful response that has the job's id. */
  idField: string;
  /** What a complete response without an id means. */
  refusal(response: JsonResponse): SubmitOutcome;
}

interface ApiOptions
  extends Pick<
    RemoteOptions,
    'call' | 'readCall' | 'submitTimeoutSeconds' | 'readTimeoutSeconds' | 'nextListTurn'
  > {
  /** Per response; 16 MB when not given, and 1 MB for a submit. */
  maxResponseBytes?: number;
}

export type Api = ReturnType<typeof openApi>;

/**
 * Calls to a provider's HTTP API, each one try.
 * @param headers of each call, such as the API key
 */
export function openApi(options: ApiOptions, headers: Record<string, string> = {}) {
  const { call, readCall, submitTimeoutSeconds, maxResponseBytes } = options;
  const { readTimeoutSeconds: timeoutSeconds = 20 } = options;
  async function request(send: CallOnce, sent: Pick<Call, 'method' | 'url'> & Partial<Call>) {
    const response = await send({
      ...sent,
      headers: { ...headers, ...sent.headers },
      timeoutSeconds,
      maxResponseBytes: maxResponseBytes ?? RESPONSE_BYTES,
    });
    if (response.kind === 'responded') return withJson(response);
    throw new ServerError(`No response from the provider: ${response.cause}`);
  }
  return {
    /** @throws ServerError when no complete response came: a temporary failure */
    get: (url: string) => request(readCall, { method: 'GET', url }),
    /**
     * Makes a call that is safe to repeat.
     * @throws ServerError when no complete response came: its effect is unknown
     */
    request: (
      method: 'HEAD' | 'POST' | 'PUT' | 'DELETE',
      url: string,
      content: Partial<Pick<Call, 'headers' | 'body'>> = {},
    ) => request(call, { method, url, ...content }),
    /** Awaited before each page of a list, also the first: a turn of the `find` budget. */
    nextListTurn: options.nextListTurn ?? (async () => {}),
    async submit(submit: Submit): Promise<SubmitOutcome> {
      const { url, headers: more, json, mayStillSend, idField, refusal } = submit;
      const response = await call({
        url,
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', ...more },
        body: JSON.stringify(json),
        timeoutSeconds: submitTimeoutSeconds,
        maxResponseBytes,
        mayStillSend,
      });
      if (response.kind !== 'responded') return response;
      const answer = withJson(response);
      const jobId = isSuccess(answer) ? jobIdIn(answer.body, idField) : null;
      return jobId === null ? refusal(answer) : { kind: 'accepted', jobId };
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
