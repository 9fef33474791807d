import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { truncate } from '../kit/truncate.ts';
import type { JobStatus, SubmitOutcome } from '../provider.ts';

type Rejection = Extract<SubmitOutcome, { kind: 'rejected' }>;
type RequestFault = Extract<Rejection, { fault: 'request' }>;
type JobFailure = Extract<JobStatus, { kind: 'failed' }>;

/** Replicate's error bodies: a problem document, or `detail` alone. */
const ErrorSchema = Type.Object({
  detail: Type.String(),
  title: Type.Optional(Type.String()),
  invalid_fields: Type.Optional(Type.Array(Type.Object({ field: Type.String() }))),
});
type ReplicateError = Static<typeof ErrorSchema>;

/** The error in a body; undefined if the body is not in Replicate's format. */
export function replicateErrorIn(body: unknown): ReplicateError | undefined {
  return Value.Check(ErrorSchema, body) ? body : undefined;
}

/** The status, the title and Replicate's text in one line, for operators. */
export function replicateCause(status: number, error: ReplicateError | undefined): string {
  const texts = [error?.title, error?.detail ?? 'no details'].filter((text) => text !== undefined);
  return truncate([`HTTP ${status}`, ...texts].join(': '));
}

/** Whose fault a refused create is, by HTTP status; the operator's if it is not listed. */
const FAULTS_BY_STATUS: Record<number, Rejection['fault']> = {
  400: 'request',
  413: 'request',
  422: 'request',
  429: 'busy',
};

const MEDIA = {
  code: 'invalid_media',
  message: 'The provider could not use an input file.',
} as const;

/**
 * Refused fields of the input; a field that is not listed is a parameter that the model does not
 * take.
 */
const FIELD_FAULTS: Record<string, Pick<RequestFault, 'code' | 'message'>> = {
  'input.image': MEDIA,
  'input.last_frame_image': MEDIA,
  'input.reference_images': MEDIA,
  'input.reference_videos': MEDIA,
};

/**
 * The outcome of a create that Replicate refused with an error in its format. A 422 about anything
 * except the input (the version, the webhook's address) is about the configuration.
 */
export function replicateRejection(
  status: number,
  error: ReplicateError,
  retryAfterSeconds: number | undefined,
): Rejection {
  const cause = replicateCause(status, error);
  const fields = (error.invalid_fields ?? []).map(({ field }) => field);
  const isConfiguration = status === 422 && !fields.some((field) => /^input(\.|$)/.test(field));
  const fault = isConfiguration ? 'operator' : (FAULTS_BY_STATUS[status] ?? 'operator');
  if (fault === 'busy') {
    const seconds = retryAfterSeconds ?? resetSeconds(error.detail);
    const wait = seconds === undefined ? {} : { retryAfterSeconds: seconds };
    return { kind: 'rejected', fault, cause, ...wait };
  }
  if (fault === 'operator') return { kind: 'rejected', fault, cause };
  const message = 'The provider does not take a parameter of this request.';
  const known = fields.map(faultOfField).find((entry) => entry !== undefined);
  return { kind: 'rejected', fault, code: 'invalid_request', message, ...known, cause };
}

/** The fault of a field. A list item, such as input.reference_images.0, counts as its list. */
function faultOfField(field: string) {
  return FIELD_FAULTS[field.replace(/\.\d+$/, '')];
}

/** Without Retry-After, a 429 tells the wait only in its text: "Your rate limit resets in ~30s." */
function resetSeconds(detail: string): number | undefined {
  const seconds = /resets in ~?(\d+)s/.exec(detail)?.[1];
  return seconds === undefined ? undefined : Number(seconds);
}

/** Replicate's error codes that matter to a client. The error text has them in parentheses. */
const JOB_FAILURES: Record<string, Pick<JobFailure, 'code' | 'message'>> = {
  E005: {
    code: 'content_refused',
    message: 'The provider refused the content of this request or of its result.',
  },
};

/** How a prediction failed. The docs do not say whether it is billed. */
export function replicateJobFailure(error: string): JobFailure {
  const code = /\((E\d+)\)/.exec(error)?.[1] ?? '';
  const message = 'The provider could not make the video.';
  const cause = truncate(error);
  const known = JOB_FAILURES[code];
  return { kind: 'failed', code: 'provider_failed', message, ...known, cause, billed: null };
}

/**
 * A prediction that ended at its deadline, or that an operator or a person at Replicate cancelled.
 * It is free if it had not started (`aborted`), otherwise it is billed (`canceled`).
 * Source: Replicate changelog 2025-10-16, prediction lifecycle.
 */
export function jobEndOf(status: 'aborted' | 'canceled'): JobFailure {
  return {
    kind: 'failed',
    code: 'generation_expired',
    message: 'The provider did not make the video in time.',
    cause: status,
    billed: status === 'canceled',
  };
}
