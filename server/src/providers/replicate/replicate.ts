import { identityOf } from '../kit/identity.ts';
import { openOutputAt } from '../kit/open-output.ts';
import type { Capabilities, Provider } from '../provider.ts';
import { cancelPrediction, readPrediction } from './prediction.ts';
import { findInPredictions } from './predictions.ts';
import {
  CREATES_PER_SECOND,
  type ReplicateOptions,
  type ReplicateSettings,
  replicateSettings,
} from './settings.ts';
import { submitToReplicate } from './submit.ts';
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

/**
 * 3,000 calls a minute that are not creates; results are deleted after an hour.
 * Source: Replicate docs, rate limits and data retention.
 */
function capabilitiesOf(settings: ReplicateSettings): Capabilities {
  return {
    exactOutput: false,
    findLagSeconds: Math.min(settings.listLagSeconds, settings.cancelAfterSeconds),
    jobLimitSeconds: settings.cancelAfterSeconds,
    outputLifeSeconds: 3600,
    budgets: {
      submit: { callsPerSecond: CREATES_PER_SECOND },
      read: { callsPerSecond: 40 },
      find: { callsPerSecond: 10 },
    },
  };
}
