import type { SimulatedResponse } from '../kit/exchange.ts';
import { type Fault, retryAfter } from '../kit/faults.ts';

/** OpenRouter's messages by HTTP status. */
const MESSAGES: Record<number, string> = {
  400: 'Invalid request parameters',
  401: 'User not found.',
  402: 'Insufficient credits. Add more using https://openrouter.ai/credits',
  403: 'Only management keys can perform this operation',
  404: 'Resource not found',
  429: 'Rate limit exceeded',
  500: 'Internal Server Error',
  502: 'Provider returned error',
  503: 'There is no available model provider that meets your routing requirements',
};

/** Why a model can't be served, with the HTTP status of each. */
const AVAILABILITY: Record<string, number> = {
  model_not_found: 400,
  model_deprecated: 404,
  region_restricted: 403,
  capacity_exhausted: 429,
  temporarily_unavailable: 503,
};

/**
 * OpenRouter's error response for a fault. A code is a reason of availability, `moderation`, an
 * error code of the provider behind OpenRouter (with an upper-case letter), or else an error type.
 */
export function refuse(fault: Fault): SimulatedResponse {
  const headers = retryAfter(fault);
  const { code } = fault;
  if (code === undefined) return problem(fault.status ?? 400, { message: fault.message, headers });
  const known = AVAILABILITY[code];
  if (known !== undefined) {
    const availability = { code, retryable: known > 404 };
    return problem(known, { headers, more: { availability } });
  }
  const status = fault.status ?? (code === 'moderation' ? 403 : 400);
  return problem(status, { message: fault.message, headers, more: { metadata: metadataOf(code) } });
}

function metadataOf(code: string): object {
  if (code === 'moderation') {
    return { reasons: ['violence'], flagged_input: 'A boat', provider_name: 'Seed' };
  }
  if (!/[A-Z]/.test(code)) return { error_type: code };
  const raw = JSON.stringify({ error: { code, message: 'refused by the provider' } });
  return { provider_name: 'Seed', raw };
}

export function problem(
  status: number,
  options: { message?: string | undefined; headers?: Record<string, string>; more?: object } = {},
): SimulatedResponse {
  const message = options.message ?? MESSAGES[status] ?? `status ${status}`;
  const error = { code: status, message, ...options.more };
  return { status, headers: options.headers ?? {}, json: { error } };
}
