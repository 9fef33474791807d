import { UsageError } from '../../kernel/errors.ts';
import type { ProviderDefinition } from '../definition.ts';
import { modelIdOf, modelVariables, rejectModel } from '../kit/configured-models.ts';
import { openOutputAt } from '../kit/open-output.ts';
import { identityOf, openApi, type RemoteDeps } from '../kit/remote.ts';
import type { Adapter, Capabilities, JobSpec, SubmitOutcome } from '../provider.ts';
import { falRefusal } from './errors.ts';
import { findInHistory } from './history.ts';
import { endpointOf, FAL_FIELDS, type FalModels, falInput } from './model-input.ts';
import { cancelRequest, readRequest } from './request.ts';
import {
  type Fal,
  type FalSettings,
  JOB_LIMIT_SECONDS,
  readFalSettings,
  START_TIMEOUT_SECONDS,
} from './settings.ts';
import { createFalWebhookReader } from './webhook.ts';

export const fal: ProviderDefinition<FalSettings> = {
  name: 'fal',
  needs: [{ variable: 'FAL_API_KEY', wanted: 'an API key of fal' }],
  readSettings: readFalSettings,
  apiKey: ({ apiKey }) => apiKey,
  baseUrls: ({ queueUrl, platformUrl }) => ({
    FAL_QUEUE_URL: queueUrl,
    FAL_PLATFORM_URL: platformUrl,
  }),
  fetchesInputs: true,
  fields: { table: FAL_FIELDS },
  create: createFal,
};

/** Results can be fetched for this long, whatever the account's own setting is. */
const OUTPUT_LIFE_SECONDS = 86_400;

const CAPABILITIES: Capabilities = {
  exactOutput: false,
  findLagSeconds: JOB_LIMIT_SECONDS, // the history may show a request only when it has finished
  jobLimitSeconds: JOB_LIMIT_SECONDS,
  outputLifeSeconds: OUTPUT_LIFE_SECONDS,
  budgets: {},
};

/**
 * Does not use fal's own clients, because they retry a submit by themselves.
 * @throws UsageError when the configured models belong to several apps
 */
export function createFal(settings: FalSettings, deps: RemoteDeps): Adapter {
  const { queueUrl, platformUrl, apiKey, models } = settings;
  const api = openApi(deps, { headers: { authorization: `Key ${apiKey}` } });
  const account: Fal = { ...settings, api, app: appOf(models), now: deps.now };
  return {
    identity: identityOf(queueUrl, platformUrl, apiKey, models),
    capabilities: CAPABILITIES,
    canServe: ({ model }, providerModel) => {
      const path = modelIdOf(models, { model, providerModel });
      return path !== undefined && appIn(path) === account.app;
    },
    submit: (jobSpec, mayStillSend) => submitToFal(account, jobSpec, mayStillSend),
    find: (attempt) => findInHistory(account, attempt),
    read: (jobId) => readRequest(account, jobId),
    cancel: (jobId) => cancelRequest(account, jobId),
    openOutput: ({ url }) => openOutputAt(url, deps),
    readCallback: createFalWebhookReader(account, deps),
  };
}

const appIn = (path: string) => path.split('/', 2).join('/');

/** All models must belong to one app, because a job id does not show its app. */
function appOf(models: FalModels): string {
  const apps = new Set(Object.values(models).map(appIn));
  const [app = '', ...others] = apps;
  if (others.length === 0) return app;
  const variables = Object.values(modelVariables('FAL')).join(', ');
  throw new UsageError(
    `${variables}: The fal models belong to several apps: ${[...apps].join(', ')}`,
  );
}

/** The first two limit an orphan job: it starts within the timeout and only once, or never. */
const SUBMIT_HEADERS = {
  'x-fal-request-start-timeout': String(START_TIMEOUT_SECONDS),
  'x-fal-no-retry': '1',
  'x-fal-store-io': '1', // a find reads the request history
  'x-fal-object-lifecycle-preference': JSON.stringify({
    expiration_duration_seconds: OUTPUT_LIFE_SECONDS,
  }),
};

/** Source: fal docs, queue submit, common parameters, reliability and data retention. */
async function submitToFal(
  { queueUrl, models, markAttempts, api }: Fal,
  jobSpec: JobSpec,
  mayStillSend: () => boolean,
): Promise<SubmitOutcome> {
  if (modelIdOf(models, jobSpec) === undefined) return rejectModel('fal', jobSpec);
  const url = new URL(`${queueUrl}/${endpointOf(jobSpec, models)}`);
  url.searchParams.set('fal_webhook', jobSpec.callbackUrl);
  const json = { ...falInput(jobSpec), ...(markAttempts && { end_user_id: jobSpec.attemptId }) };
  const answer = { idField: 'request_id', refusal: falRefusal };
  return api.submit({ url: url.href, headers: SUBMIT_HEADERS, json, mayStillSend, ...answer });
}
