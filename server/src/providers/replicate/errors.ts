import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import {
  createRefusalReader,
  EXPIRED,
  FAILED,
  type JobFailure,
  type JobFault,
  MEDIA_FAULT,
  meaningOfStatus,
  truncate,
} from '../kit/outcomes.ts';
import type { JsonResponse } from '../kit/remote.ts';

/** Replicate's error bodies: a problem document, or `detail` alone. */
const ErrorSchema = Type.Object({
  detail: Type.String(),
  title: Type.Optional(Type.String()),
  invalid_fields: Type.Optional(Type.Array(Type.Object({ field: Type.String() }))),
});
type ReplicateError = Static<typeof ErrorSchema>;

export function replicateErrorIn(body: unknown): ReplicateError | undefined {
  return Value.Check(ErrorSchema, body) ? body : undefined;
}

export function replicateCause({ status, body }: JsonResponse): string {
  const error = replicateErrorIn(body);
  const texts = [error?.title, error?.detail ?? 'no details'].filter((text) => text !== undefined);
  return truncate([`HTTP ${status}`, ...texts].join(': '));
}

/** Fields of files, and their list items, such as `input.reference_images.0`. */
const MEDIA_FIELD = /^input\.(image|last_frame_image|reference_images|reference_videos)(\.\d+)?$/;

/**
 * The outcome of a create whose response has no id. A 422 about anything but the input, such as the
 * version or the webhook's address, is about the configuration.
 */
export const replicateRefusal = createRefusalReader({
  errorIn: replicateErrorIn,
  causeOf: replicateCause,
  meaningOf({ invalid_fields = [] }, status) {
    const isAbout = (fields: RegExp) => invalid_fields.some(({ field }) => fields.test(field));
    if (status === 422 && !isAbout(/^input(\.|$)/)) return 'operator';
    return meaningOfStatus(status, isAbout(MEDIA_FIELD) ? MEDIA_FAULT : undefined);
  },
  // "Your rate limit resets in ~30s."
  waitSeconds({ detail }) {
    const seconds = /resets in ~?(\d+)s/.exec(detail)?.[1];
    return seconds === undefined ? undefined : Number(seconds);
  },
});

/** Replicate's code for refused content, in parentheses in the error text. */
const REFUSED_CONTENT = '(E005)';
const CONTENT: JobFault = {
  code: 'content_refused',
  message: 'The provider refused the content of this request or of its result.',
};

/** How a prediction failed. The docs do not say whether it is billed. */
export function replicateJobFailure(error: string): JobFailure {
  const fault = error.includes(REFUSED_CONTENT) ? CONTENT : FAILED;
  return { kind: 'failed', ...fault, cause: truncate(error), billed: null };
}

/**
 * A prediction that ended at its deadline, or that an operator or a person at Replicate cancelled.
 * It is free if it had not started (`aborted`), otherwise it is billed (`canceled`).
 * Source: Replicate changelog 2025-10-16, prediction lifecycle.
 */
export function jobEndOf(status: 'aborted' | 'canceled'): JobFailure {
  return { kind: 'failed', ...EXPIRED, cause: status, billed: status === 'canceled' };
}
