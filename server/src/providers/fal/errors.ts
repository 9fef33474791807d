import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { truncate } from '../kit/truncate.ts';
import type { JobStatus, SubmitOutcome } from '../provider.ts';

type Rejection = Extract<SubmitOutcome, { kind: 'rejected' }>;
type RequestFault = Extract<Rejection, { fault: 'request' }>;
type JobFailure = Extract<JobStatus, { kind: 'failed' }>;

/** fal's own error bodies: of a model (a list of details) and of the platform (flat). */
const ErrorSchema = Type.Object({
  detail: Type.Union([
    Type.String(),
    Type.Array(
      Type.Object({ msg: Type.Optional(Type.String()), type: Type.Optional(Type.String()) }),
    ),
  ]),
  error_type: Type.Optional(Type.String()),
});
export type FalError = Static<typeof ErrorSchema>;

/** fal's error in a body, or undefined when the body is not fal's own (a proxy's page). */
export function falErrorIn(body: unknown): FalError | undefined {
  return Value.Check(ErrorSchema, body) ? body : undefined;
}

/** The words that say what an error is: the platform's and each detail's. */
export function errorWords(error: FalError | undefined): string[] {
  if (!error) return [];
  const details = typeof error.detail === 'string' ? [] : error.detail;
  return [error.error_type, ...details.map(({ type }) => type)].filter(
    (word) => word !== undefined,
  );
}

/** For operators: the words and what fal wrote beside them. */
export function falCause(status: number, error: FalError | undefined): string {
  const detail = error?.detail ?? 'no words';
  const text = typeof detail === 'string' ? detail : detail.map(({ msg }) => msg ?? '').join('; ');
  return truncate([`HTTP ${status}`, ...errorWords(error), text].join(': '));
}

const MEDIA = {
  code: 'invalid_media',
  message: 'The provider can not use an input file.',
} as const;
const CONTENT = {
  code: 'content_refused',
  message: 'The provider refused the content of this request.',
} as const;

/**
 * Words that name the client's fault. A `file_download_error` is not among them: fal downloads from
 * our own links. Any other word with status 400 or 422 is a parameter that the model does not take.
 * Source: fal docs, model errors.
 */
const REQUEST_FAULTS: Record<string, Pick<RequestFault, 'code' | 'message'>> = {
  content_policy_violation: CONTENT,
  image_too_small: MEDIA,
  image_too_large: MEDIA,
  image_load_error: MEDIA,
  face_detection_error: MEDIA,
  file_too_large: MEDIA,
  unsupported_image_format: MEDIA,
  unsupported_audio_format: MEDIA,
  unsupported_video_format: MEDIA,
  audio_duration_too_long: MEDIA,
  audio_duration_too_short: MEDIA,
  video_duration_too_long: MEDIA,
  video_duration_too_short: MEDIA,
};

const OPERATOR_WORDS = new Set(['file_download_error']);

/** Whose fault a refused submit is, by HTTP status; the operator's when it is not listed. */
const FAULTS_BY_STATUS: Record<number, Rejection['fault']> = {
  400: 'request',
  413: 'request',
  422: 'request',
  429: 'busy',
};

/** What a complete refusal of fal's own means, for a submit. */
export function falRejection(
  status: number,
  error: FalError,
  retryAfterSeconds: number | undefined,
): Rejection {
  const cause = falCause(status, error);
  const words = errorWords(error);
  const fault = words.some((word) => OPERATOR_WORDS.has(word))
    ? 'operator'
    : (FAULTS_BY_STATUS[status] ?? 'operator');
  const wait = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
  if (fault !== 'request') return { kind: 'rejected', fault, cause, ...wait };
  const message = 'The provider does not take a parameter of this request.';
  const known = words.map((word) => REQUEST_FAULTS[word]).find((entry) => entry !== undefined);
  return { kind: 'rejected', fault, code: 'invalid_request', message, ...known, cause };
}

const EXPIRED = {
  code: 'generation_expired',
  message: 'The provider did not make the video in time.',
} as const;

/** What became of an accepted request, by its word; `provider_failed` when it is not listed. */
const JOB_FAILURES: Record<string, Pick<JobFailure, 'code' | 'message'>> = {
  content_policy_violation: CONTENT,
  request_timeout: EXPIRED,
  generation_timeout: EXPIRED,
};

/**
 * How a request failed. fal does not bill server errors; it may bill what the model refused.
 * Source: fal docs, faq and pricing.
 */
export function falJobFailure(status: number, words: string[], told: string): JobFailure {
  const message = 'The provider could not make the video.';
  const known = words.map((word) => JOB_FAILURES[word]).find((entry) => entry !== undefined);
  const billed = status >= 500 ? false : null;
  const cause = truncate(told);
  return { kind: 'failed', code: 'provider_failed', message, ...known, cause, billed };
}
