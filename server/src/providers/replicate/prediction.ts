import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { JsonResponse } from '../kit/remote.ts';
import type { CancelOutcome, JobStatus, OutputReference } from '../provider.ts';
import { jobEndOf, replicateCause, replicateErrorIn, replicateJobFailure } from './errors.ts';
import type { ReplicateSettings } from './settings.ts';

const PredictionSchema = Type.Object({
  status: Type.String(),
  output: Type.Optional(Type.Unknown()),
  error: Type.Optional(Type.Unknown()),
});

/**
 * Reads a prediction. An unknown status counts as working.
 * Source: Replicate docs, prediction lifecycle.
 */
export async function readPrediction(
  settings: ReplicateSettings,
  jobId: string,
): Promise<JobStatus> {
  const response = await settings.api.get(urlOf(settings, jobId));
  if (isNotFound(response)) return { kind: 'missing' };
  if (response.status !== 200 || !Value.Check(PredictionSchema, response.body))
    throw unclear(response);
  const { status, output, error } = response.body;
  switch (status) {
    case 'succeeded':
      return { kind: 'succeeded', output: referenceTo(output) };
    case 'failed':
      return replicateJobFailure(String(error ?? 'no details'));
    case 'aborted':
    case 'canceled':
      return jobEndOf(status);
    default:
      return { kind: 'working' };
  }
}

/**
 * Cancels a prediction that waits or runs. Replicate shows an ended one unchanged.
 * Source: Replicate docs, cancel a prediction.
 */
export async function cancelPrediction(
  settings: ReplicateSettings,
  jobId: string,
): Promise<CancelOutcome> {
  const response = await settings.api.request('POST', `${urlOf(settings, jobId)}/cancel`);
  if (isNotFound(response)) return { kind: 'refused', cause: 'Replicate does not know the job' };
  if (response.status !== 200 || !Value.Check(PredictionSchema, response.body))
    throw unclear(response);
  const { status } = response.body;
  const hasEnded = status === 'succeeded' || status === 'failed';
  return hasEnded ? { kind: 'refused', cause: `the job has ${status}` } : { kind: 'accepted' };
}

function urlOf({ baseUrl }: ReplicateSettings, jobId: string): string {
  return `${baseUrl}/v1/predictions/${encodeURIComponent(jobId)}`;
}

/**
 * Seedance's output is one link. Replicate deletes it after an hour; then the reference is empty.
 */
function referenceTo(output: unknown): OutputReference {
  return typeof output === 'string' ? { url: output } : {};
}

function isNotFound(response: JsonResponse): boolean {
  return response.status === 404 && replicateErrorIn(response.body) !== undefined;
}

function unclear(response: JsonResponse): Error {
  return new Error(`a prediction can't be read: ${replicateCause(response)}`);
}
