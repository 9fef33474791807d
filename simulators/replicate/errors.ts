import type { Answer } from '../kit/exchange.ts';
import type { Fault } from '../kit/faults.ts';

/** Replicate's titles, by HTTP status. */
const TITLES: Record<number, string> = {
  400: 'Bad request',
  401: 'Unauthenticated',
  402: 'Insufficient credit',
  403: 'Permission denied',
  404: 'Not found',
  422: 'Invalid version or not permitted',
  429: 'Too many requests',
  500: 'Internal server error',
};

/** Replicate's own error for a fault; a code names the field of a request that it refuses. */
export function refuse(fault: Fault): Answer {
  const retry = fault.retryAfterSeconds;
  if (fault.code) return invalidField(fault.code, fault.message ?? 'is not valid');
  const status = fault.status ?? 400;
  const throttled = `Request was throttled. Your rate limit resets in ~${retry ?? 30}s.`;
  const detail = fault.message ?? (status === 429 ? throttled : 'the simulator was told to refuse');
  return problem(status, detail, retry === undefined ? {} : { 'retry-after': String(retry) });
}

export function problem(
  status: number,
  detail: string,
  headers: Record<string, string> = {},
): Answer {
  return { status, headers, json: { title: TITLES[status] ?? 'Error', detail, status } };
}

export function invalidField(field: string, description: string): Answer {
  const detail = `- ${field}: ${description}\n`;
  const fields = [{ type: 'invalid', field, description }];
  const title = 'Input validation failed';
  return { status: 422, json: { detail, status: 422, title, invalid_fields: fields } };
}
