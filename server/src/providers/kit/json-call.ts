import type { CallOnce, CallResponse } from '../../outbound/call.ts';

/** A page of a list can hold a hundred jobs with all that was sent for them. */
const RESPONSE_BYTES = 16 * 2 ** 20;

/** An answer whose body was read as JSON; `body` is undefined when it is none. */
export interface JsonResponse {
  status: number;
  headers: CallResponse['headers'];
  body: unknown;
}

/**
 * Asks a provider for JSON, once.
 * @throws Error when no whole answer came: a passing failure
 */
export async function getJson(
  call: CallOnce,
  request: { url: string; headers: Record<string, string>; timeoutSeconds: number },
): Promise<JsonResponse> {
  const response = await call({ ...request, method: 'GET', maxResponseBytes: RESPONSE_BYTES });
  if (response.kind !== 'responded')
    throw new Error(`No answer from the provider: ${response.cause}`);
  return { status: response.status, headers: response.headers, body: parseJson(response.body) };
}

/** What a body says, or undefined when it is not JSON in UTF-8. */
export function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

/** The seconds of a Retry-After header; a date in it is not understood. */
export function retryAfterSeconds(headers: CallResponse['headers']): number | undefined {
  const text = headers['retry-after']?.trim() ?? '';
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
}

/** Statuses below 500 of which nobody can say whether the request was worked on. */
const TIMEOUTS = new Set([408, 425, 499]);

/** Whether an answer to a submit leaves open what became of it: no refusal, whatever its body. */
export function leavesOpen(status: number): boolean {
  return status < 400 || status >= 500 || TIMEOUTS.has(status);
}
