import { type Static, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import { JobIdSchema } from '../kit/job-id.ts';
import type { JobStatus } from '../provider.ts';
import { type ArkError, ArkErrorSchema, arkCause, arkRefusal, publicMessage } from './errors.ts';

const Nullable = <Schema extends TSchema>(schema: Schema) =>
  Type.Optional(Type.Union([schema, Type.Null()]));

/** A task as GET, LIST and callbacks show it; only the fields that are read. */
const ArkJobSchema = Type.Object({
  id: JobIdSchema,
  model: Nullable(Type.String()),
  status: Type.String(),
  error: Nullable(ArkErrorSchema),
  content: Nullable(Type.Object({ video_url: Nullable(Type.String()) })),
  /** Unix seconds. */
  created_at: Nullable(Type.Number()),
  resolution: Nullable(Type.String()),
  ratio: Nullable(Type.String()),
  duration: Nullable(Type.Number()),
  generate_audio: Nullable(Type.Boolean()),
  safety_identifier: Nullable(Type.String()),
});
export type ArkJob = Static<typeof ArkJobSchema>;

/** The value as a task; undefined if it is not one. */
export function arkJob(value: unknown): ArkJob | undefined {
  return Value.Check(ArkJobSchema, value) ? value : undefined;
}

/**
 * What a task's status means. Only successful videos are billed. `expired` is in the API's list of
 * statuses but not in those of the SDKs. Unknown statuses count as working.
 * @throws Error when the task succeeded but has no link
 */
export function statusOf(job: ArkJob): JobStatus {
  switch (job.status) {
    case 'succeeded':
      return succeeded(job);
    case 'failed':
      return failed(job.error ?? { code: 'failed' });
    case 'expired':
      return ended('generation_expired', 'The provider did not make the video in time.', job);
    case 'cancelled':
    case 'canceled':
      return ended('provider_failed', 'The provider cancelled the generation.', job);
    default:
      return { kind: 'working' };
  }
}

function succeeded(job: ArkJob): JobStatus {
  const url = job.content?.video_url;
  if (!url) throw new Error(`${job.id} succeeded but has no video_url`);
  return { kind: 'succeeded', output: { url } };
}

function failed(error: ArkError): JobStatus {
  const isContent = arkRefusal(error, 200) === 'content_refused';
  const code = isContent ? 'content_refused' : 'provider_failed';
  const text = 'The provider could not make this video.';
  const message = isContent ? publicMessage('content_refused') : text;
  return { kind: 'failed', code, message, cause: arkCause(error), billed: false };
}

function ended(
  code: 'generation_expired' | 'provider_failed',
  message: string,
  job: ArkJob,
): JobStatus {
  const cause = job.error ? arkCause(job.error) : `status ${job.status}`;
  return { kind: 'failed', code, message, cause, billed: false };
}
