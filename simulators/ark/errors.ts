import type { SimulatedResponse } from '../kit/exchange.ts';
import { type Fault, retryAfter } from '../kit/faults.ts';

/** The HTTP status of each documented code, by how it begins; 400 for others. */
const STATUS_OF: [code: RegExp, status: number][] = [
  [/^(InvalidEndpointOrModel|ModelNotOpen|NotFound|UnsupportedModel)/, 404],
  [/^(AuthenticationError|InvalidAccountStatus)/, 401],
  [/^(AccessDenied|OperationDenied|AccountOverdueError)/, 403],
  [/RateLimit|^(QuotaExceeded|SetLimit|InflightBatchsize|ServerOverloaded|RequestBurst)/, 429],
  [/^InternalServiceError/, 500],
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
  const status = fault.status ?? STATUS_OF.find(([known]) => known.test(code))?.[1] ?? 400;
  const json = { error: arkError({ code, message: fault.message }) };
  return { status, headers: retryAfter(fault), json };
}
