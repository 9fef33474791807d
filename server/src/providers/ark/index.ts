import type { ProviderDefinition } from '../definition.ts';
import { modelIdOf, rejectModel } from '../kit/configured-models.ts';
import { jobIdIn } from '../kit/job-id.ts';
import { openOutputAt } from '../kit/open-output.ts';
import { forged, identityOf, openApi, parseJson, type RemoteDeps } from '../kit/remote.ts';
import type { Adapter, Callback, Capabilities } from '../provider.ts';
import { refusedSubmit } from './errors.ts';
import { createArkFind } from './find.ts';
import { cancelArkJob, readArkJob } from './job.ts';
import { ARK_FIELDS, createBody } from './request.ts';
import { type ArkSettings, readArkSettings } from './settings.ts';

export const ark: ProviderDefinition<ArkSettings> = {
  name: 'ark',
  needs: [{ variable: 'ARK_API_KEY', wanted: 'an API key of ModelArk' }],
  readSettings: readArkSettings,
  apiKey: ({ apiKey }) => apiKey,
  baseUrls: ({ baseUrl }) => ({ ARK_BASE_URL: baseUrl }),
  fetchesInputs: true,
  fields: { table: ARK_FIELDS },
  create: createArk,
};

/** Sources: the create, get and list pages of the API reference and its page on limits. */
function capabilitiesOf({ submitsPerMinute }: ArkSettings): Capabilities {
  return {
    exactOutput: false,
    findLagSeconds: 60,
    jobLimitSeconds: 172_800,
    outputLifeSeconds: 86_400,
    budgets: {
      submit: { callsPerSecond: submitsPerMinute / 60 },
      read: { callsPerSecond: 20 },
      find: { callsPerSecond: 1 },
    },
  };
}

/**
 * BytePlus ModelArk and Volcengine Ark, "video generation tasks". A lost job is found by its
 * callback (each attempt has its own path) or in Ark's list.
 */
export function createArk(settings: ArkSettings, deps: RemoteDeps): Adapter {
  const { models, markAttempts, apiKey } = settings;
  const api = openApi(deps, { headers: { authorization: `Bearer ${apiKey}` } });
  const jobsUrl = `${settings.baseUrl}/contents/generations/tasks`;
  const urlOf = (jobId: string) => `${jobsUrl}/${encodeURIComponent(jobId)}`;
  return {
    identity: identityOf(settings.baseUrl, apiKey, models, markAttempts),
    capabilities: capabilitiesOf(settings),
    canServe: ({ model }, providerModel) =>
      modelIdOf(models, { model, providerModel }) !== undefined,
    async submit(jobSpec, mayStillSend) {
      if (modelIdOf(models, jobSpec) === undefined) return rejectModel('ModelArk', jobSpec);
      const json = createBody(jobSpec, models, markAttempts ? jobSpec.attemptId : null);
      // The id is for tracing: Ark does not deduplicate by it.
      const headers = { 'x-client-request-id': jobSpec.attemptId };
      const answer = { idField: 'id', refusal: refusedSubmit };
      return api.submit({ url: jobsUrl, headers, json, mayStillSend, ...answer });
    },
    find: createArkFind({ api, jobsUrl, models, isMarking: markAttempts, now: deps.now }),
    read: (jobId) => readArkJob(api, urlOf(jobId), jobId),
    cancel: (jobId) => cancelArkJob(api, urlOf(jobId), jobId),
    openOutput: ({ url }) => openOutputAt(url, deps),
    readCallback: async ({ body }) => readCallback(parseJson(body)),
  };
}

/** Ark does not sign callbacks, so one is only a hint that its job should be read. */
function readCallback(json: unknown): Callback {
  if (typeof json !== 'object' || json === null) return forged('not a JSON object');
  return { kind: 'report', jobId: jobIdIn(json, 'id'), verified: false };
}
