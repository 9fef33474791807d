import type { SimulatedResponse } from '../kit/exchange.ts';
import { type Fault, retryAfter } from '../kit/faults.ts';

/** Titles of Replicate's errors by HTTP status. */
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

/** Replicate's error response for a fault. A code names the invalid field of the request. */
export function refuse(fault: Fault): SimulatedResponse {
  if (fault.code) return invalidField(fault.code, fault.message ?? 'is not valid');
  const status = fault.status ?? 400;
  const throttled = `Request was throttled. Your rate limit resets in ~${fault.retryAfterSeconds ?? 30}s.`;
  const detail = fault.message ?? (status === 429 ? throttled : 'refused by a planned fault');
  return problem(status, detail, retryAfter(fault));
}

export function problem(
  status: number,
  detail: string,
  headers: Record<string, string> = {},
): SimulatedResponse {
  return { status, headers, json: { title: TITLES[status] ?? 'Error', detail, status } };
}

export function invalidField(field: string, description: string): SimulatedResponse {
  const detail = `- ${field}: ${description}\n`;
  const fields = [{ type: 'invalid', field, description }];
  const title = 'Input validation failed';
  return { status: 422, json: { detail, status: 422, title, invalid_fields: fields } };
}
