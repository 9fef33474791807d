import { openOutputAt } from '../kit/open-output.ts';
import { rejected } from '../kit/rejection.ts';
import { identityOf } from '../kit/remote.ts';
import type { Capabilities, JobSpec, Provider, SubmitOutcome } from '../provider.ts';
import { replicateRefusal } from './errors.ts';
import { replicateInput } from './model-input.ts';
import { cancelPrediction, readPrediction } from './prediction.ts';
import { findInPredictions } from './predictions.ts';
import {
  CREATES_PER_SECOND,
  type ReplicateOptions,
  type ReplicateSettings,
  replicateSettings,
} from './settings.ts';
import { createReplicateWebhookReader } from './webhook.ts';

/**
 * Seedance 2.0 on Replicate. Does not use Replicate's own client, because it retries a create by
 * itself.
 */
export function createReplicateProvider(options: ReplicateOptions): Provider {
  const settings = replicateSettings(options);
  return {
    name: 'replicate',
    identity: identityOf(settings.baseUrl, settings.apiToken, settings.models),
    capabilities: capabilitiesOf(settings),
    submit: (jobSpec, mayStillSend) => submitToReplicate(settings, jobSpec, mayStillSend),
    find: (input) => findInPredictions(settings, input),
    read: (jobId) => readPrediction(settings, jobId),
    cancel: (jobId) => cancelPrediction(settings, jobId),
    openOutput: ({ url }) => openOutputAt(url, options),
    readCallback: createReplicateWebhookReader(settings),
  };
}

/** Replicate ends a prediction that is not done after this time. */
const CANCEL_AFTER_SECONDS = 3600;

/**
 * 3,000 calls a minute that are not creates; results are deleted after an hour.
 * Source: Replicate docs, rate limits and data retention.
 */
function capabilitiesOf(settings: ReplicateSettings): Capabilities {
  return {
    exactOutput: false,
    findLagSeconds: Math.min(settings.listLagSeconds, CANCEL_AFTER_SECONDS),
    jobLimitSeconds: CANCEL_AFTER_SECONDS,
    outputLifeSeconds: 3600,
    budgets: {
      submit: { callsPerSecond: CREATES_PER_SECOND },
      read: { callsPerSecond: 40 },
      find: { callsPerSecond: 10 },
    },
  };
}

/**
 * Creates a prediction of an official model; one try. If the response is lost, the `start` webhook
 * brings the id, and the deadline limits the cost of an orphan job.
 * Source: Replicate docs, create a prediction, webhooks; changelog 2025-10-16.
 */
async function submitToReplicate(
  settings: ReplicateSettings,
  jobSpec: JobSpec,
  mayStillSend: () => boolean,
): Promise<SubmitOutcome> {
  const model = settings.models[jobSpec.model];
  if (model === null) {
    return rejected('operator', `Replicate has no model configured for ${jobSpec.model}`);
  }
  const url = `${settings.baseUrl}/v1/models/${model}/predictions`;
  const headers = { 'cancel-after': `${CANCEL_AFTER_SECONDS / 60}m` };
  const json = {
    input: replicateInput(jobSpec),
    webhook: jobSpec.callbackUrl,
    webhook_events_filter: ['start', 'completed'],
  };
  const answer = { idField: 'id', refusal: replicateRefusal };
  return settings.api.submit({ url, headers, json, mayStillSend, ...answer });
}
