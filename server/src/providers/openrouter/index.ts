import type { ProviderDefinition } from '../definition.ts';
import { modelIdOf, rejectModel } from '../kit/configured-models.ts';
import { identityOf, openApi, type RemoteDeps } from '../kit/remote.ts';
import type { Adapter, Capabilities } from '../provider.ts';
import { openRouterRefusal } from './errors.ts';
import { openVideo, readOpenRouterJob } from './job.ts';
import { listOpenRouterModels } from './models.ts';
import { OPENROUTER_FIELDS, openRouterBody } from './request.ts';
import { type OpenRouter, type OpenRouterSettings, readOpenRouterSettings } from './settings.ts';
import { createOpenRouterWebhookReader } from './webhook.ts';

export const openrouter: ProviderDefinition<OpenRouterSettings> = {
  name: 'openrouter',
  needs: [{ variable: 'OPENROUTER_API_KEY', wanted: 'an API key of OpenRouter' }],
  readSettings: readOpenRouterSettings,
  apiKey: ({ apiKey }) => apiKey,
  baseUrls: ({ baseUrl }) => ({ OPENROUTER_BASE_URL: baseUrl }),
  fetchesInputs: true,
  fields: { table: OPENROUTER_FIELDS },
  listModels: listOpenRouterModels,
  create: createOpenRouter,
};

/**
 * OpenRouter documents neither how long a job may take nor how long its video is kept ("briefly").
 * ModelArk, which runs Seedance, ends a job after 48 hours; jobs of an hour have been reported. A
 * find never finds a job, so its lag only delays an operator's
 * OPENROUTER_ASSUME_ABSENT_AFTER_HOURS. Source: OpenRouter docs, video generation; API limits (paid
 * models have no request limit).
 */
const CAPABILITIES: Capabilities = {
  exactOutput: false,
  findLagSeconds: 3600,
  jobLimitSeconds: 172_800,
  outputLifeSeconds: 3600,
  budgets: {},
};

/**
 * Seedance 2.0 at OpenRouter, by its video API. Has no cancel, because OpenRouter has no call for
 * it.
 */
export function createOpenRouter(settings: OpenRouterSettings, deps: RemoteDeps): Adapter {
  const { baseUrl, apiKey, models } = settings;
  const headers = { authorization: `Bearer ${apiKey}` };
  const account: OpenRouter = { ...settings, headers, api: openApi(deps, { headers }) };
  return {
    identity: identityOf(baseUrl, apiKey, models),
    capabilities: CAPABILITIES,
    canServe: ({ model }, providerModel) =>
      modelIdOf(models, { model, providerModel }) !== undefined,
    async submit(jobSpec, mayStillSend) {
      if (modelIdOf(models, jobSpec) === undefined) return rejectModel('OpenRouter', jobSpec);
      return account.api.submit({
        url: `${baseUrl}/videos`,
        // Shown in OpenRouter's logs, where a person finds the job. No call searches by it.
        headers: { 'x-session-id': jobSpec.attemptId },
        json: openRouterBody(jobSpec, models),
        mayStillSend,
        idField: 'id',
        refusal: openRouterRefusal,
      });
    },
    // There is no list of jobs: only the callback at a job's end names the job of a lost submit.
    find: async () => ({ kind: 'absent', proof: 'weak' }),
    read: (jobId) => readOpenRouterJob(account, jobId),
    openOutput: (output) => openVideo(output, account, deps),
    readCallback: createOpenRouterWebhookReader(settings, deps.now),
  };
}
