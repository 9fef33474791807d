import { jobIdIn } from '../kit/listed-jobs.ts';
import { rejected } from '../kit/rejection.ts';
import { isSuccess, type JsonResponse } from '../kit/remote.ts';
import type { JobSpec, SubmitOutcome } from '../provider.ts';
import { replicateRefusal } from './errors.ts';
import { replicateInput } from './model-input.ts';
import type { ReplicateSettings } from './settings.ts';

/**
 * Creates a prediction of an official model; one try. If the response is lost, the `start` webhook
 * brings the id, and the deadline limits the cost of an orphan job.
 * Source: Replicate docs, create a prediction, webhooks; changelog 2025-10-16.
 */
export async function submitToReplicate(
  settings: ReplicateSettings,
  jobSpec: JobSpec,
  mayStillSend: () => boolean,
): Promise<SubmitOutcome> {
  const model = settings.models[jobSpec.model];
  if (model === null) {
    return rejected('operator', `Replicate has no model configured for ${jobSpec.model}`);
  }
  const url = `${settings.baseUrl}/v1/models/${model}/predictions`;
  const headers = { 'cancel-after': asDuration(settings.cancelAfterSeconds) };
  const json = {
    input: replicateInput(jobSpec),
    webhook: jobSpec.callbackUrl,
    webhook_events_filter: ['start', 'completed'],
  };
  return settings.api.submit({ url, headers, json, mayStillSend }, outcomeOf);
}

/** In the format of the documented example, `1m`. */
function asDuration(seconds: number): string {
  const whole = Math.ceil(seconds);
  return whole % 60 === 0 ? `${whole / 60}m` : `${whole}s`;
}

function outcomeOf(response: JsonResponse): SubmitOutcome {
  const jobId = isSuccess(response) ? jobIdIn(response.body, 'id') : null;
  return jobId === null ? replicateRefusal(response) : { kind: 'accepted', jobId };
}
