import { type Static, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import { JobIdSchema } from '../kit/job-id.ts';
import { CONTENT_FAULT, EXPIRED, type JobFailure, type JobFault } from '../kit/outcomes.ts';
import type { Api, JsonResponse } from '../kit/remote.ts';
import type { CancelOutcome, JobStatus } from '../provider.ts';
import { ArkErrorSchema, arkCause, arkCauseOf, arkErrorIn, arkMeaning } from './errors.ts';

const Nullable = <Schema extends TSchema>(schema: Schema) =>
  Type.Optional(Type.Union([schema, Type.Null()]));

/** A job, which Ark calls a task, in GET, LIST and callbacks; only the fields that are read. */
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

export function arkJob(value: unknown): ArkJob | undefined {
  return Value.Check(ArkJobSchema, value) ? value : undefined;
}

export async function readArkJob(api: Api, url: string, jobId: string): Promise<JobStatus> {
  const job = await getJob(api, url, jobId);
  return job ? statusOf(job) : { kind: 'missing' };
}

/**
 * Cancels a job that waits in Ark's queue. Ark refuses to DELETE a running job, but deletes an
 * ended one with its video. So the DELETE is sent only right after a read has shown the job as
 * queued: it can't start and end before the DELETE arrives. Source: the delete page of the API
 * reference.
 */
export async function cancelArkJob(api: Api, url: string, jobId: string): Promise<CancelOutcome> {
  const job = await getJob(api, url, jobId);
  if (!job) return { kind: 'refused', cause: 'Ark does not know the job' };
  if (job.status === 'cancelled') return { kind: 'accepted' };
  if (job.status !== 'queued') {
    const cause = `Ark cancels only queued jobs, and this one is ${job.status}`;
    return { kind: 'refused', cause };
  }
  const response = await api.request('DELETE', url);
  if (response.status === 200) return { kind: 'accepted' };
  const isRefusal = arkErrorIn(response.body) && response.status < 500 && response.status !== 429;
  if (!isRefusal) throw notReadable(response);
  return { kind: 'refused', cause: arkCauseOf(response) };
}

/** A 404 about a model or an endpoint, or from a proxy, says nothing about the job. */
async function getJob(api: Api, url: string, jobId: string): Promise<ArkJob | undefined> {
  const response = await api.get(url);
  const job = response.status === 200 ? arkJob(response.body) : undefined;
  if (job?.id === jobId) return job;
  const error = response.status === 404 ? arkErrorIn(response.body) : undefined;
  if (!error || /Model|Endpoint/.test(error.code)) throw notReadable(response);
  return undefined;
}

function notReadable(response: JsonResponse): Error {
  return new Error(`a job can't be read: ${arkCauseOf(response)}`);
}

const CANCELLED: JobFault = {
  code: 'provider_failed',
  message: 'The provider cancelled the generation.',
};
const FAILED: JobFault = {
  code: 'provider_failed',
  message: 'The provider could not make this video.',
};
/** Source: the error code reference of ark-cli. */
const PROVIDER_FAULT = /^(InternalServiceError|ServerOverloaded)$/;

/**
 * What a job's status means. Only successful videos are billed. `expired` is in the API's list of
 * statuses but not in those of the SDKs. Unknown statuses count as working.
 * @throws Error when the job succeeded but has no link
 */
function statusOf(job: ArkJob): JobStatus {
  switch (job.status) {
    case 'succeeded': {
      const url = job.content?.video_url;
      if (!url) throw new Error(`${job.id} succeeded but has no video_url`);
      return { kind: 'succeeded', output: { url } };
    }
    case 'failed': {
      const isContent = job.error && arkMeaning(job.error, 200) === CONTENT_FAULT;
      if (isContent) return failureOf(job, CONTENT_FAULT);
      const isProviderFault = PROVIDER_FAULT.test(job.error?.code ?? '');
      return { ...failureOf(job, FAILED), isProviderFault };
    }
    case 'expired':
      return failureOf(job, EXPIRED);
    case 'cancelled':
    case 'canceled':
      return failureOf(job, CANCELLED);
    default:
      return { kind: 'working' };
  }
}

function failureOf({ status, error }: ArkJob, fault: JobFault): JobFailure {
  const cause = error ? arkCause(error) : `status ${status}`;
  return { kind: 'failed', ...fault, cause, billed: false };
}
