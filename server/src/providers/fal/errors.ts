import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import {
  CONTENT_FAULT,
  createRefusalReader,
  EXPIRED,
  FAILED,
  type JobFailure,
  type JobFault,
  MEDIA_FAULT,
  meaningOfStatus,
  type RequestFault,
  truncate,
} from '../kit/outcomes.ts';
import type { JsonResponse } from '../kit/remote.ts';

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

export function falErrorIn(body: unknown): FalError | undefined {
  return Value.Check(ErrorSchema, body) ? body : undefined;
}

/** The error types of the platform and of each detail. */
export function errorTypes({ detail, error_type }: FalError): string[] {
  const details = typeof detail === 'string' ? [] : detail;
  return [error_type, ...details.map(({ type }) => type)].filter((type) => type !== undefined);
}

export function falCause({ status, body }: JsonResponse): string {
  const error = falErrorIn(body) ?? { detail: 'no details' };
  const { detail } = error;
  const text = typeof detail === 'string' ? detail : detail.map(({ msg }) => msg ?? '').join('; ');
  return truncate([`HTTP ${status}`, ...errorTypes(error), text].join(': '));
}

/**
 * Error types that are the client's fault. `file_download_error` is not among them: fal downloads
 * from links of this service. With status 400, 413 or 422, any other type means that the model
 * does not take a parameter.
 * Source: fal docs, model errors.
 */
const REQUEST_FAULTS: Record<string, RequestFault> = {
  content_policy_violation: CONTENT_FAULT,
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

export const falRefusal = createRefusalReader({
  errorIn: falErrorIn,
  causeOf: falCause,
  meaningOf(error, status) {
    const types = errorTypes(error);
    if (types.includes('file_download_error')) return 'operator';
    return meaningOfStatus(status, types.map((type) => REQUEST_FAULTS[type]).find(Boolean));
  },
});

/** How an accepted request failed, by error type. Types that are not listed: `provider_failed`. */
const JOB_FAULTS: Record<string, JobFault> = {
  content_policy_violation: CONTENT_FAULT,
  request_timeout: EXPIRED,
  generation_timeout: EXPIRED,
};

/** Error types of fal's own failures. Source: fal docs, error reference. */
const PROVIDER_FAULTS =
  /^(runner_\w+|internal_error|internal_server_error|startup_timeout|request_timeout)$/;

/**
 * How a request failed. fal does not bill server errors; it may bill a request whose input the
 * model refused.
 * Source: fal docs, faq and pricing.
 */
export function falJobFailure(status: number, types: string[], text: string): JobFailure {
  const fault = types.map((type) => JOB_FAULTS[type]).find(Boolean) ?? FAILED;
  const billed = status >= 500 ? false : null;
  const isProviderFault = types.length > 0 && types.every((type) => PROVIDER_FAULTS.test(type));
  return { kind: 'failed', ...fault, cause: truncate(text), billed, isProviderFault };
}
