import type { CallOnce, CallResponse } from '../../outbound/call.ts';

/** A page of a list can hold a hundred jobs with everything that was sent for them. */
const RESPONSE_BYTES = 16 * 2 ** 20;

/** A response with its body parsed as JSON; `body` is undefined if it is not JSON. */
export interface JsonResponse {
  status: number;
  headers: CallResponse['headers'];
  body: unknown;
}

/**
 * Gets JSON from a provider; one try.
 * @throws Error when no complete response came: a temporary failure
 */
export function getJson(call: CallOnce, request: JsonRequest): Promise<JsonResponse> {
  return requestJson(call, 'GET', request);
}

interface JsonRequest {
  url: string;
  headers: Record<string, string>;
  timeoutSeconds: number;
}

/**
 * Makes a call without a body, one try; for calls that may be made twice.
 * @throws Error when no complete response came: what the call did is not known
 */
export async function requestJson(
  call: CallOnce,
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  request: JsonRequest,
): Promise<JsonResponse> {
  const response = await call({ ...request, method, maxResponseBytes: RESPONSE_BYTES });
  if (response.kind !== 'responded')
    throw new Error(`No response from the provider: ${response.cause}`);
  return { status: response.status, headers: response.headers, body: parseJson(response.body) };
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
