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
export function replicateCause({ status, body }: JsonResponse): string {
  const error = replicateErrorIn(body);
  const texts = [error?.title, error?.detail ?? 'no details'].filter((text) => text !== undefined);
  return truncate([`HTTP ${status}`, ...texts].join(': '));
}

/**
 * Refused fields of the input; a field that is not listed is a parameter that the model does not
 * take.
 */
const FIELD_FAULTS: Record<string, RequestFault> = {
  'input.image': MEDIA_FAULT,
  'input.last_frame_image': MEDIA_FAULT,
  'input.reference_images': MEDIA_FAULT,
  'input.reference_videos': MEDIA_FAULT,
};

/**
 * The outcome of a create whose response has no id. A 422 about anything except the input (the
 * version, the webhook's address) is about the configuration.
 */
export function replicateRefusal(response: JsonResponse): SubmitOutcome {
  const { status, headers } = response;
  const error = replicateErrorIn(response.body);
  if (isOutcomeUnknown(status) || !error) return { kind: 'unknown', cause: `HTTP ${status}` };
  const cause = replicateCause(response);
  const fields = (error.invalid_fields ?? []).map(({ field }) => field);
  const isConfiguration = status === 422 && !fields.some((field) => /^input(\.|$)/.test(field));
  const fault = isConfiguration ? 'operator' : faultOfStatus(status);
  if (fault === 'operator') return rejected(fault, cause);
  if (fault === 'request') return rejectedRequest(cause, fields.map(faultOfField).find(Boolean));
  return rejected(fault, cause, retryAfterSeconds(headers) ?? resetSeconds(error.detail));
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
