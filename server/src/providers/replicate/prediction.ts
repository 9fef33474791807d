import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { JsonResponse } from '../kit/remote.ts';
import type { CancelOutcome, JobStatus } from '../provider.ts';
import { jobEndOf, replicateCause, replicateErrorIn, replicateJobFailure } from './errors.ts';
import type { Replicate } from './settings.ts';

const PredictionSchema = Type.Object({
  status: Type.String(),
  output: Type.Optional(Type.Unknown()),
  error: Type.Optional(Type.Unknown()),
  metrics: Type.Optional(Type.Unknown()),
});

/** An unknown status counts as working. Source: Replicate docs, prediction lifecycle. */
export async function readPrediction(account: Replicate, jobId: string): Promise<JobStatus> {
  const prediction = predictionIn(await account.api.get(urlOf(account, jobId)));
  if (!prediction) return { kind: 'missing' };
  const { status, output, error, metrics } = prediction;
  const time = timeIn(metrics);
  switch (status) {
    case 'succeeded':
      // Seedance's output is one link. Replicate deletes it after an hour.
      return {
        kind: 'succeeded',
        output: typeof output === 'string' ? { url: output } : {},
        ...time,
      };
    case 'failed':
      return { ...replicateJobFailure(String(error ?? 'no details')), ...time };
    case 'aborted':
    case 'canceled':
      return { ...jobEndOf(status), ...time };
    default:
      return { kind: 'working' };
  }
}

/** Source: Replicate docs, billing: public models are billed by the time that they process. */
function timeIn(metrics: unknown): { computeSeconds?: number } {
  const { predict_time: seconds } = Object(metrics);
  return typeof seconds === 'number' ? { computeSeconds: seconds } : {};
}

/** An ended prediction is returned unchanged. Source: Replicate docs, cancel a prediction. */
export async function cancelPrediction(account: Replicate, jobId: string): Promise<CancelOutcome> {
  const response = await account.api.request('POST', `${urlOf(account, jobId)}/cancel`);
  const status = predictionIn(response)?.status;
  if (status === undefined) return { kind: 'refused', cause: 'Replicate does not know the job' };
  const hasEnded = status === 'succeeded' || status === 'failed';
  return hasEnded ? { kind: 'refused', cause: `the job has ${status}` } : { kind: 'accepted' };
}

function urlOf({ baseUrl }: Replicate, jobId: string): string {
  return `${baseUrl}/v1/predictions/${encodeURIComponent(jobId)}`;
}

/** @returns undefined if Replicate does not know the prediction; a proxy's 404 does not prove it */
function predictionIn(response: JsonResponse) {
  const { status, body } = response;
  if (status === 404 && replicateErrorIn(body)) return undefined;
  if (status === 200 && Value.Check(PredictionSchema, body)) return body;
  throw new Error(`a prediction can't be read: ${replicateCause(response)}`);
}
