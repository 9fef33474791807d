import {
  type Environment,
  namingVariables,
  read,
  secret,
  webAddress,
  yesOrNo,
} from '../../kernel/variables.ts';
import type { ProviderDefinition } from '../definition.ts';
import { modelVariables, readModels } from '../kit/configured-models.ts';
import { remoteOf } from '../kit/remote.ts';
import { createFalProvider } from './fal.ts';
import { FAL_FIELDS, FAL_MODELS } from './model-input.ts';

function readSettings(env: Environment) {
  const apiKey = secret(env, 'FAL_API_KEY');
  const settings = {
    queueUrl: webAddress(env, 'FAL_QUEUE_URL') ?? 'https://queue.fal.run',
    platformUrl: webAddress(env, 'FAL_PLATFORM_URL') ?? 'https://api.fal.ai',
    jwksUrl: webAddress(env, 'FAL_JWKS_URL') ?? 'https://rest.fal.ai/.well-known/jwks.json',
    userId: read(env, 'FAL_USER_ID', '') || undefined,
    models: readModels(env, 'FAL', FAL_MODELS),
    markWithEndUserId: yesOrNo(env, 'FAL_MARK_ATTEMPTS', 'yes'),
  };
  return apiKey === undefined ? undefined : { ...settings, apiKey };
}

type Settings = NonNullable<ReturnType<typeof readSettings>>;

export const fal: ProviderDefinition<Settings> = {
  name: 'fal',
  registeredBy: [{ variable: 'FAL_API_KEY', wanted: 'an API key of fal' }],
  readSettings,
  apiKey: ({ apiKey }) => apiKey,
  baseUrls: ({ queueUrl, platformUrl }) => ({
    FAL_QUEUE_URL: queueUrl,
    FAL_PLATFORM_URL: platformUrl,
  }),
  fetchesInputs: true,
  fields: { table: FAL_FIELDS },
  create(settings, deps) {
    return namingVariables(Object.values(modelVariables('FAL')).join(', '), () =>
      createFalProvider({ ...settings, ...remoteOf(deps) }),
    );
  },
};
