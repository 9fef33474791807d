import { openOutputAt } from '../kit/open-output.ts';
import { identityOf } from '../kit/remote.ts';
import type { Capabilities, JobSpec, Provider, SubmitOutcome } from '../provider.ts';
import { falRefusal } from './errors.ts';
import { findInHistory } from './history.ts';
import { endpointOf, falInput } from './model-input.ts';
import { cancelRequest, readRequest } from './request.ts';
import {
  type FalOptions,
  type FalSettings,
  falSettings,
  JOB_LIMIT_SECONDS,
  START_TIMEOUT_SECONDS,
} from './settings.ts';
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
    capabilities: CAPABILITIES,
    submit: (jobSpec, mayStillSend) => submitToFal(settings, jobSpec, mayStillSend),
    find: (input) => findInHistory(settings, input),
    read: (jobId) => readRequest(settings, jobId),
    cancel: (jobId) => cancelRequest(settings, jobId),
    openOutput: ({ url }) => openOutputAt(url, options),
    readCallback: createFalWebhookReader(settings),
  };
}

/** Results can be fetched for this long, whatever the account's own setting is. */
const OUTPUT_LIFE_SECONDS = 86_400;

const CAPABILITIES: Capabilities = {
  exactOutput: false,
  findLagSeconds: JOB_LIMIT_SECONDS, // the history may show a request only when it has finished
  jobLimitSeconds: JOB_LIMIT_SECONDS,
  outputLifeSeconds: OUTPUT_LIFE_SECONDS,
  budgets: {},
};

/** Together the first two limit an orphan job: it starts within that time, once, or never. */
const SUBMIT_HEADERS = {
  'x-fal-request-start-timeout': String(START_TIMEOUT_SECONDS),
  'x-fal-no-retry': '1',
  'x-fal-store-io': '1', // a find reads the request history
  'x-fal-object-lifecycle-preference': JSON.stringify({
    expiration_duration_seconds: OUTPUT_LIFE_SECONDS,
  }),
};

/**
 * Submits a request to fal's queue; one try.
 * Source: fal docs, queue submit, common parameters, reliability and data retention.
 */
async function submitToFal(
  settings: FalSettings,
  jobSpec: JobSpec,
  mayStillSend: () => boolean,
): Promise<SubmitOutcome> {
  const { callbackUrl, attemptId } = jobSpec;
  const mark = settings.markWithEndUserId ? { end_user_id: attemptId } : {};
  const url = new URL(`${settings.queueUrl}/${endpointOf(jobSpec, settings.models)}`);
  url.searchParams.set('fal_webhook', callbackUrl);
  const json = { ...falInput(jobSpec), ...mark };
  const answer = { idField: 'request_id', refusal: falRefusal };
  const headers = SUBMIT_HEADERS;
  return settings.api.submit({ url: url.href, headers, json, mayStillSend, ...answer });
}
