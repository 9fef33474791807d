import { identityOf } from '../kit/identity.ts';
import { openOutputAt } from '../kit/open-output.ts';
import type { Capabilities, Provider } from '../provider.ts';
import { findInHistory } from './history.ts';
import { cancelRequest, readRequest } from './request.ts';
import { type FalOptions, type FalSettings, falSettings } from './settings.ts';
import { OUTPUT_LIFE_SECONDS, submitToFal } from './submit.ts';
import { createFalWebhookReader } from './webhook.ts';

/**
 * Seedance 2.0 on fal's queue. Does not use fal's own clients, because they retry a submit by
 * themselves.
 * @throws UsageError when the configured models belong to several apps
 */
export function createFalProvider(options: FalOptions): Provider {
  const settings = falSettings(options);
  return {
    name: 'fal',
    identity: identityOf(settings.queueUrl, settings.platformUrl, settings.apiKey, settings.models),
    capabilities: capabilitiesOf(settings),
    submit: (jobSpec, mayStillSend) => submitToFal(settings, jobSpec, mayStillSend),
    find: (input) => findInHistory(settings, input),
    read: (jobId) => readRequest(settings, jobId),
    cancel: (jobId) => cancelRequest(settings, jobId),
    openOutput: ({ url }) => openOutputAt(url, options),
    readCallback: createFalWebhookReader(settings),
  };
}

function capabilitiesOf(settings: FalSettings): Capabilities {
  const { jobLimitSeconds } = settings;
  return {
    exactOutput: false,
    findLagSeconds: jobLimitSeconds, // the history may show a request only when it has finished
    jobLimitSeconds,
    outputLifeSeconds: OUTPUT_LIFE_SECONDS,
    budgets: {},
  };
}
