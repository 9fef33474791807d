import { randomUUID } from 'node:crypto';
import type { SimulatedResponse } from '../kit/exchange.ts';
import { type Fault, retryAfter } from '../kit/faults.ts';
import type { Ending } from './job.ts';

/** Errors of fal's platform by HTTP status: a text, with or without an error type. */
const BY_STATUS: Record<number, { detail: string; error_type?: string }> = {
  400: { detail: 'Bad request', error_type: 'bad_request' },
  401: { detail: 'Authentication is required to access this application' },
  403: { detail: 'User is locked. Reason: Exhausted balance.' },
  404: { detail: 'Application not found' },
  429: { detail: 'Too many requests' },
  500: { detail: 'Internal server error', error_type: 'internal_error' },
  503: { detail: 'Runner disconnected', error_type: 'runner_disconnected' },
  504: { detail: 'Request timed out', error_type: 'request_timeout' },
};

/**
 * fal's error response for a fault. A code is an error of the model, by default with status 422.
 */
export function refuse(fault: Fault): SimulatedResponse {
  const headers = retryAfter(fault);
  if (fault.code) return modelError(fault.status ?? 422, fault.code, fault.message, headers);
  const status = fault.status ?? 400;
  const known = BY_STATUS[status] ?? { detail: `status ${status}` };
  return platformError(status, { ...known, detail: fault.message ?? known.detail }, headers);
}

export function notFound(): SimulatedResponse {
  return platformError(404, { detail: 'Request not found' });
}

export function unauthorized(): SimulatedResponse {
  return refuse({ kind: 'refuse', status: 401 });
}

/** The result of a failed request: 422 is an error of the model, every other of fal's platform. */
export function failedResult(ending: Extract<Ending, { kind: 'error' }>): SimulatedResponse {
  const { status, code, text } = ending;
  if (status === 422) return modelError(status, code, text);
  return platformError(status, { detail: text, error_type: code });
}

function modelError(
  status: number,
  type: string,
  message = 'refused by the model',
  headers: Record<string, string> = {},
): SimulatedResponse {
  const detail = [{ loc: ['body', 'prompt'], msg: message, type, input: null }];
  return { status, headers: { ...headers, ...requestId() }, json: { detail } };
}

function platformError(
  status: number,
  json: { detail: string; error_type?: string },
  headers: Record<string, string> = {},
): SimulatedResponse {
  const typeHeader: Record<string, string> =
    json.error_type === undefined ? {} : { 'x-fal-error-type': json.error_type };
  return { status, headers: { ...headers, ...typeHeader, ...requestId() }, json };
}

function requestId(): Record<string, string> {
  return { 'x-fal-request-id': randomUUID() };
}
