import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { CallOutcome } from '../../outbound/call.ts';
import { JobIdSchema } from '../kit/job-id.ts';
import { isOutcomeUnknown, parseJson, retryAfterSeconds } from '../kit/json-call.ts';
import type { JobSpec, SubmitOutcome } from '../provider.ts';
import { replicateErrorIn, replicateRejection } from './errors.ts';
import { replicateInput } from './model-input.ts';
import type { ReplicateSettings } from './settings.ts';

const AcceptedSchema = Type.Object({ id: JobIdSchema });

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
    const cause = `Replicate has no model configured for ${jobSpec.model}`;
    return { kind: 'rejected', fault: 'operator', cause };
  }
  const response = await settings.call({
    url: `${settings.baseUrl}/v1/models/${model}/predictions`,
    method: 'POST',
    headers: {
      authorization: `Bearer ${settings.apiToken}`,
      'content-type': 'application/json',
      'cancel-after': asDuration(settings.cancelAfterSeconds),
    },
    body: JSON.stringify({
      input: replicateInput(jobSpec),
      webhook: jobSpec.callbackUrl,
      webhook_events_filter: ['start', 'completed'],
    }),
    timeoutSeconds: settings.submitTimeoutSeconds,
    mayStillSend,
  });
  return outcomeOf(response);
}

/** In the format of the documented example, `1m`. */
function asDuration(seconds: number): string {
  const whole = Math.ceil(seconds);
  return whole % 60 === 0 ? `${whole / 60}m` : `${whole}s`;
}

function outcomeOf(response: CallOutcome): SubmitOutcome {
  if (response.kind !== 'responded') return response;
  const { status, headers } = response;
  const body = parseJson(response.body);
  const isSuccess = status >= 200 && status < 300;
  if (isSuccess && Value.Check(AcceptedSchema, body)) return { kind: 'accepted', jobId: body.id };
  const error = replicateErrorIn(body);
  if (isOutcomeUnknown(status) || !error) return { kind: 'unknown', cause: `HTTP ${status}` };
  return replicateRejection(status, error, retryAfterSeconds(headers));
}
