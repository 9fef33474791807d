import { type Environment, number, secret, webAddress, yesOrNo } from '../../kernel/variables.ts';
import type { ProviderDefinition } from '../definition.ts';
import { readModels } from '../kit/configured-models.ts';
import { remoteOf } from '../kit/remote.ts';
import { createArkProvider, SUBMITS_PER_MINUTE } from './ark.ts';
import { ARK_FIELDS, modelsFor } from './request.ts';

/** 60,000 a minute are a thousand a second, more than any account is granted. */
const PER_MINUTE = { min: 1, max: 60_000 };

function readSettings(env: Environment) {
  const apiKey = secret(env, 'ARK_API_KEY');
  const baseUrl =
    webAddress(env, 'ARK_BASE_URL') ?? 'https://ark.ap-southeast.bytepluses.com/api/v3';
  const settings = {
    baseUrl,
    models: readModels(env, 'ARK', modelsFor(baseUrl)),
    markAttempts: yesOrNo(env, 'ARK_MARK_ATTEMPTS', 'yes'),
    submitsPerMinute: number(env, 'ARK_SUBMITS_PER_MINUTE', SUBMITS_PER_MINUTE, PER_MINUTE),
  };
  return apiKey === undefined ? undefined : { ...settings, apiKey };
}

type Settings = NonNullable<ReturnType<typeof readSettings>>;

export const ark: ProviderDefinition<Settings> = {
  name: 'ark',
  registeredBy: [{ variable: 'ARK_API_KEY', wanted: 'an API key of ModelArk' }],
  readSettings,
  apiKey: ({ apiKey }) => apiKey,
  baseUrls: ({ baseUrl }) => ({ ARK_BASE_URL: baseUrl }),
  fetchesInputs: true,
  fields: { table: ARK_FIELDS },
  create: (settings, deps) => createArkProvider({ ...settings, ...remoteOf(deps) }),
};
