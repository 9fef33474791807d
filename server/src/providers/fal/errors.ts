import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import {
  faultOfStatus,
  MEDIA_FAULT,
  type RequestFault,
  rejected,
  rejectedRequest,
  truncate,
} from '../kit/rejection.ts';
import { isOutcomeUnknown, type JsonResponse, retryAfterSeconds } from '../kit/remote.ts';
import type { JobStatus, SubmitOutcome } from '../provider.ts';

type JobFailure = Extract<JobStatus, { kind: 'failed' }>;

/** fal's error bodies: of a model (a list of details) and of the platform (flat). */
const ErrorSchema = Type.Object({
  detail: Type.Union([
    Type.String(),
    Type.Array(
      Type.Object({ msg: Type.Optional(Type.String()), type: Type.Optional(Type.String()) }),
    ),
  ]),
  error_type: Type.Optional(Type.String()),
});
type FalError = Static<typeof ErrorSchema>;

/** The error in a body; undefined if the body is not in fal's format (a proxy's page). */
export function falErrorIn(body: unknown): FalError | undefined {
  return Value.Check(ErrorSchema, body) ? body : undefined;
}

/** The error types that a body names: of the platform and of each detail. */
export function errorTypes(error: FalError | undefined): string[] {
  if (!error) return [];
  const details = typeof error.detail === 'string' ? [] : error.detail;
  return [error.error_type, ...details.map(({ type }) => type)].filter(
    (type) => type !== undefined,
  );
}

/** The status, the error types and fal's text in one line, for operators. */
export function falCause({ status, body }: JsonResponse): string {
  const error = falErrorIn(body);
  const detail = error?.detail ?? 'no details';
  const text = typeof detail === 'string' ? detail : detail.map(({ msg }) => msg ?? '').join('; ');
  return truncate([`HTTP ${status}`, ...errorTypes(error), text].join(': '));
}

const CONTENT = {
  code: 'content_refused',
  message: 'The provider refused the content of this request.',
} as const;

/**
 * Error types that are the client's fault. `file_download_error` is not among them: fal downloads
 * from links of this service. With status 400, 413 or 422, any other type is a parameter that the
 * model does not take.
 * Source: fal docs, model errors.
 */
const REQUEST_FAULTS: Record<string, RequestFault> = {
  content_policy_violation: CONTENT,
  image_too_small: MEDIA_FAULT,
  image_too_large: MEDIA_FAULT,
  image_load_error: MEDIA_FAULT,
  face_detection_error: MEDIA_FAULT,
  file_too_large: MEDIA_FAULT,
  unsupported_image_format: MEDIA_FAULT,
  unsupported_audio_format: MEDIA_FAULT,
  unsupported_video_format: MEDIA_FAULT,
  audio_duration_too_long: MEDIA_FAULT,
  audio_duration_too_short: MEDIA_FAULT,
  video_duration_too_long: MEDIA_FAULT,
  video_duration_too_short: MEDIA_FAULT,
};

const OPERATOR_TYPES = new Set(['file_download_error']);

/** The outcome of a submit whose response has no request id. */
export function falRefusal(response: JsonResponse): SubmitOutcome {
  const { status, headers } = response;
  const error = falErrorIn(response.body);
  if (isOutcomeUnknown(status) || !error) return { kind: 'unknown', cause: `HTTP ${status}` };
  const cause = falCause(response);
  const types = errorTypes(error);
  const isOperators = types.some((type) => OPERATOR_TYPES.has(type));
  const fault = isOperators ? 'operator' : faultOfStatus(status);
  if (fault !== 'request') return rejected(fault, cause, retryAfterSeconds(headers));
  return rejectedRequest(cause, types.map((type) => REQUEST_FAULTS[type]).find(Boolean));
}

const EXPIRED = {
  code: 'generation_expired',
  message: 'The provider did not make the video in time.',
} as const;

/** How an accepted request failed, by error type; `provider_failed` if it is not listed. */
const JOB_FAILURES: Record<string, Pick<JobFailure, 'code' | 'message'>> = {
  content_policy_violation: CONTENT,
  request_timeout: EXPIRED,
  generation_timeout: EXPIRED,
};

/**
 * How a request failed. fal does not bill server errors; it may bill a request whose input the
 * model refused.
 * Source: fal docs, faq and pricing.
 */
export function falJobFailure(status: number, types: string[], text: string): JobFailure {
  const message = 'The provider could not make the video.';
  const known = types.map((type) => JOB_FAILURES[type]).find((entry) => entry !== undefined);
  const billed = status >= 500 ? false : null;
  const cause = truncate(text);
  return { kind: 'failed', code: 'provider_failed', message, ...known, cause, billed };
}
