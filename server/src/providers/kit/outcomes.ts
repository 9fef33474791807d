import type { JobStatus, SubmitOutcome } from '../provider.ts';
import type { JsonResponse } from './remote.ts';

type Rejection = Extract<SubmitOutcome, { kind: 'rejected' }>;
export type JobFailure = Extract<JobStatus, { kind: 'failed' }>;

export type RequestFault = Pick<Extract<Rejection, { fault: 'request' }>, 'code' | 'message'>;

export type JobFault = Pick<JobFailure, 'code' | 'message'>;

export const CONTENT_FAULT = {
  code: 'content_refused',
  message: 'The provider refused the content of this request.',
} as const;

export const MEDIA_FAULT: RequestFault = {
  code: 'invalid_media',
  message: 'The provider could not use an input file.',
};

const PARAMETER_FAULT: RequestFault = {
  code: 'invalid_request',
  message: 'The provider does not take a parameter of this request.',
};

export const EXPIRED: JobFault = {
  code: 'generation_expired',
  message: 'The provider did not make the video in time.',
};

export const FAILED: JobFault = {
  code: 'provider_failed',
  message: 'The provider could not make the video.',
};

/** What a refused submit means. `busy` and `operator`: see {@link SubmitOutcome}. */
export type Meaning = RequestFault | 'busy' | 'operator';

/**
 * What an HTTP status means if the provider's error says no more.
 * @param known the request's fault; if not given, the model does not take one of its parameters
 */
export function meaningOfStatus(status: number, known?: RequestFault): Meaning {
  if (status === 429) return 'busy';
  return [400, 413, 422].includes(status) ? (known ?? PARAMETER_FAULT) : 'operator';
}

/** A provider's error bodies, and what they mean for a submit. */
interface RefusalFormat<ErrorBody> {
  /** undefined if the body is not in the provider's format, such as a proxy's page. */
  errorIn(body: unknown, status: number): ErrorBody | undefined;
  /** The provider's own text, for operators. */
  causeOf(response: JsonResponse): string;
  meaningOf(error: ErrorBody, status: number): Meaning;
  /** How long to wait, if the response has no Retry-After. */
  waitSeconds?(error: ErrorBody): number | undefined;
}

/**
 * Makes a reader for the response to a submit if it has no job id. It proves a refusal only if it
 * has an error in the provider's own format and a status that means a refusal.
 */
export function createRefusalReader<ErrorBody>(format: RefusalFormat<ErrorBody>) {
  return (response: JsonResponse): SubmitOutcome => {
    const { status, headers, body } = response;
    const error = format.errorIn(body, status);
    if (!error) return { kind: 'unknown', cause: `HTTP ${status} without a job id` };
    const cause = format.causeOf(response);
    if (isOutcomeUnknown(status)) return { kind: 'unknown', cause };
    const meaning = format.meaningOf(error, status);
    if (typeof meaning === 'object')
      return { kind: 'rejected', fault: 'request', ...meaning, cause };
    return rejected(meaning, cause, retryAfterSeconds(headers) ?? format.waitSeconds?.(error));
  };
}

/** A refusal that is not about the request. */
export function rejected(
  fault: 'busy' | 'operator',
  cause: string,
  retryAfterSeconds?: number,
): Rejection {
  return {
    kind: 'rejected',
    fault,
    cause,
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  };
}

/** The seconds of a Retry-After header; undefined if it holds a date. */
function retryAfterSeconds(headers: JsonResponse['headers']): number | undefined {
  const text = headers['retry-after']?.trim() ?? '';
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
}

/** Statuses below 500 after which the request may or may not have been processed. */
const TIMEOUTS = new Set([408, 409, 425, 499]);

/** Whether the status does not prove a rejection, even if the body reports an error. */
function isOutcomeUnknown(status: number): boolean {
  return status < 400 || status >= 500 || TIMEOUTS.has(status);
}

/** Enough for an operator; a whole error page is cut. */
const MAX_CHARACTERS = 1000;

/**
 * The beginning of a provider's text, fit to be stored. Half of a surrogate pair, which Postgres
 * rejects, becomes U+FFFD, whether the cut or the provider made it.
 */
export function truncate(text: string): string {
  return text.slice(0, MAX_CHARACTERS).toWellFormed();
}
