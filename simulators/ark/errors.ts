import type { SimulatedResponse } from '../kit/exchange.ts';
import type { Fault } from '../kit/faults.ts';

/** The HTTP status of each documented code. The first matching prefix counts. */
const STATUS_OF: [prefix: string, status: number][] = [
  ['InvalidEndpointOrModel', 404],
  ['ModelNotOpen', 404],
  ['NotFound', 404],
  ['UnsupportedModel', 404],
  ['AuthenticationError', 401],
  ['InvalidAccountStatus', 401],
  ['AccessDenied', 403],
  ['OperationDenied', 403],
  ['AccountOverdueError', 403],
  ['RateLimitExceeded', 429],
  ['ModelAccountRpmRateLimitExceeded', 429],
  ['APIAccountRpmRateLimitExceeded', 429],
  ['AccountRateLimitExceeded', 429],
  ['QuotaExceeded', 429],
  ['SetLimitExceeded', 429],
  ['InflightBatchsizeExceeded', 429],
  ['ServerOverloaded', 429],
  ['RequestBurstTooFast', 429],
  ['InternalServiceError', 500],
];

const CODE_OF: Record<number, string> = {
  400: 'InvalidParameter',
  401: 'AuthenticationError',
  403: 'AccessDenied',
  404: 'NotFound.task',
  429: 'RateLimitExceeded.EndpointRPMExceeded',
};

export function arkError({ code, message }: { code: string; message?: string | undefined }) {
  return {
    code,
    message: message ?? `Failed with ${code}. Request id: 0217`,
    param: '',
    type: '',
  };
}

/** Ark's error response for a code, a status, or both. */
export function refuse(fault: Omit<Fault, 'kind'>): SimulatedResponse {
  const code = fault.code ?? CODE_OF[fault.status ?? 400] ?? 'InternalServiceError';
  const status = fault.status ?? STATUS_OF.find(([prefix]) => code.startsWith(prefix))?.[1] ?? 400;
  const wait = fault.retryAfterSeconds;
  const headers: Record<string, string> = wait === undefined ? {} : { 'retry-after': String(wait) };
  return { status, headers, json: { error: arkError({ code, message: fault.message }) } };
}
