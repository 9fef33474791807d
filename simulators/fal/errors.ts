import { randomUUID } from 'node:crypto';
import type { Answer } from '../kit/exchange.ts';
import type { Fault } from '../kit/faults.ts';
import type { Ending } from './job.ts';

/** What fal answers by itself, by HTTP status; a text alone, or with a word of the platform. */
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

/** fal's own error for a fault: a code is a model's word, with status 422 unless told. */
export function refuse(fault: Fault): Answer {
  const retry = fault.retryAfterSeconds;
  const headers: Record<string, string> =
    retry === undefined ? {} : { 'retry-after': String(retry) };
  if (fault.code) return modelError(fault.status ?? 422, fault.code, fault.message, headers);
  const status = fault.status ?? 400;
  const words = BY_STATUS[status] ?? { detail: `status ${status}` };
  return platformError(status, { ...words, detail: fault.message ?? words.detail }, headers);
}

export function notFound(): Answer {
  return platformError(404, { detail: 'Request not found' });
}

export function unauthorized(): Answer {
  return refuse({ kind: 'refuse', status: 401 });
}

/** The result of a request that failed: 422 and the like are the model's, the rest fal's own. */
export function failedResult(ending: Extract<Ending, { kind: 'error' }>): Answer {
  const { status, code, text } = ending;
  if (status === 422) return modelError(status, code, text);
  return platformError(status, { detail: text, error_type: code });
}

function modelError(
  status: number,
  type: string,
  message = 'refused by the model',
  headers: Record<string, string> = {},
): Answer {
  const detail = [{ loc: ['body', 'prompt'], msg: message, type, input: null }];
  return { status, headers: { ...headers, ...requestId() }, json: { detail } };
}

function platformError(
  status: number,
  json: { detail: string; error_type?: string },
  headers: Record<string, string> = {},
): Answer {
  const word: Record<string, string> =
    json.error_type === undefined ? {} : { 'x-fal-error-type': json.error_type };
  return { status, headers: { ...headers, ...word, ...requestId() }, json };
}

function requestId(): Record<string, string> {
  return { 'x-fal-request-id': randomUUID() };
}
