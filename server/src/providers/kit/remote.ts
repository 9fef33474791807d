import { createHash } from 'node:crypto';
import {
  type Call,
  type CallResponse,
  callOnce,
  createPooledCalls,
  type MakeCall,
} from '../../outbound/call.ts';
import type { AdapterDeps } from '../definition.ts';
import type { Callback, SubmitOutcome } from '../provider.ts';
import { jobIdIn } from './job-id.ts';

export type RemoteDeps = Pick<
  AdapterDeps,
  'guardedFetch' | 'submitTimeoutSeconds' | 'now' | 'nextListTurn' | 'maxOutputBytes'
>;

/**
 * A digest of everything that decides where a provider's jobs are created and found: its address,
 * the account's key, its models. See {@link Provider.identity}.
 */
export function identityOf(...decisive: unknown[]): string {
  return createHash('sha256').update(JSON.stringify(decisive)).digest('hex').slice(0, 24);
}

export function forged(cause: string): Callback {
  return { kind: 'forged', cause };
}

/** A page of a list can hold a hundred jobs with everything that was sent for them. */
const RESPONSE_BYTES = 16 * 2 ** 20;
/** The timeout of a read, and of each page of a list, unless that of a submit is shorter. */
const READ_SECONDS = 20;

/** `body` is undefined if it is not JSON. */
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

interface ApiOptions {
  /** Sent with each call, such as the API key. */
  headers?: Record<string, string>;
  /** Makes reads, which are safe to repeat. By default, it uses kept-alive connections. */
  readCall?: MakeCall;
  readTimeoutSeconds?: number;
}

export type Api = ReturnType<typeof openApi>;

/** Makes calls to a provider's HTTP API. Only reads reuse connections, and may be sent twice. */
export function openApi(
  { submitTimeoutSeconds, nextListTurn }: Pick<RemoteDeps, 'submitTimeoutSeconds' | 'nextListTurn'>,
  { headers = {}, readCall = createPooledCalls(), ...options }: ApiOptions,
) {
  const timeoutSeconds = options.readTimeoutSeconds ?? Math.min(READ_SECONDS, submitTimeoutSeconds);
  async function request(send: MakeCall, sent: Pick<Call, 'method' | 'url'> & Partial<Call>) {
    const response = await send({
      ...sent,
      headers: { ...headers, ...sent.headers },
      timeoutSeconds,
      maxResponseBytes: RESPONSE_BYTES,
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
    ) => request(callOnce, { method, url, ...content }),
    nextListTurn,
    async submit(submit: Submit): Promise<SubmitOutcome> {
      const { url, headers: more, json, mayStillSend, idField, refusal } = submit;
      const response = await callOnce({
        url,
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', ...more },
        body: JSON.stringify(json),
        timeoutSeconds: submitTimeoutSeconds,
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
