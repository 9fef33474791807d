import type { ProviderDefinition } from '../definition.ts';
import { modelIdOf, rejectModel } from '../kit/configured-models.ts';
import { openOutputAt } from '../kit/open-output.ts';
import { identityOf, openApi, type RemoteDeps } from '../kit/remote.ts';
import type { Adapter, Capabilities, JobSpec, SubmitOutcome } from '../provider.ts';
import { replicateRefusal } from './errors.ts';
import { REPLICATE_FIELDS, replicateInput } from './model-input.ts';
import { cancelPrediction, readPrediction } from './prediction.ts';
import { findInPredictions } from './predictions.ts';
import {
  CREATES_PER_SECOND,
  type Replicate,
  type ReplicateSettings,
  readReplicateSettings,
} from './settings.ts';
import { createReplicateWebhookReader } from './webhook.ts';

export const replicate: ProviderDefinition<ReplicateSettings> = {
  name: 'replicate',
  needs: [{ variable: 'REPLICATE_API_TOKEN', wanted: 'an API token of Replicate' }],
  readSettings: readReplicateSettings,
  apiKey: ({ apiToken }) => apiToken,
  baseUrls: ({ baseUrl }) => ({ REPLICATE_BASE_URL: baseUrl }),
  fetchesInputs: true,
  fields: { table: REPLICATE_FIELDS },
  create: createReplicate,
};

/** Does not use Replicate's own client, because it retries a create by itself. */
export function createReplicate(settings: ReplicateSettings, deps: RemoteDeps): Adapter {
  const { baseUrl, apiToken, models } = settings;
  const api = openApi(deps, { headers: { authorization: `Bearer ${apiToken}` } });
  const account: Replicate = { ...settings, api };
  return {
    identity: identityOf(baseUrl, apiToken, models),
    capabilities: capabilitiesOf(settings),
    canServe: ({ model }, providerModel) =>
      modelIdOf(models, { model, providerModel }) !== undefined,
    submit: (jobSpec, mayStillSend) => submitToReplicate(account, jobSpec, mayStillSend),
    find: (attempt) => findInPredictions(account, attempt),
    read: (jobId) => readPrediction(account, jobId),
    cancel: (jobId) => cancelPrediction(account, jobId),
    openOutput: ({ url }) => openOutputAt(url, deps),
    readCallback: createReplicateWebhookReader(account, deps.now),
  };
}

/** Replicate ends a prediction that is not done after this time. */
const CANCEL_AFTER_SECONDS = 3600;

/**
 * Reads and finds share 3,000 calls a minute, besides creates. Results are deleted after an hour.
 * Source: Replicate docs, rate limits and data retention.
 */
function capabilitiesOf({ listLagSeconds }: ReplicateSettings): Capabilities {
  return {
    exactOutput: false,
    findLagSeconds: Math.min(listLagSeconds, CANCEL_AFTER_SECONDS),
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
 * Creates a prediction of an official model. If the response is lost, the `start` webhook brings
 * the id, and the deadline limits the cost of an orphan job.
 * Source: Replicate docs, create a prediction, webhooks; changelog 2025-10-16.
 */
async function submitToReplicate(
  { baseUrl, models, api }: Replicate,
  jobSpec: JobSpec,
  mayStillSend: () => boolean,
): Promise<SubmitOutcome> {
  const model = modelIdOf(models, jobSpec);
  if (model === undefined) return rejectModel('Replicate', jobSpec);
  const url = `${baseUrl}/v1/models/${model}/predictions`;
  const headers = { 'cancel-after': `${CANCEL_AFTER_SECONDS / 60}m` };
  const json = {
    input: replicateInput(jobSpec),
    webhook: jobSpec.callbackUrl,
    webhook_events_filter: ['start', 'completed'],
  };
  return api.submit({ url, headers, json, mayStillSend, idField: 'id', refusal: replicateRefusal });
}
