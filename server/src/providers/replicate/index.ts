import { UsageError } from '../../kernel/errors.ts';
import { type Environment, number, read, secret, webAddress } from '../../kernel/variables.ts';
import type { ProviderDefinition } from '../definition.ts';
import { readModels } from '../kit/configured-models.ts';
import { remoteOf } from '../kit/remote.ts';
import { REPLICATE_FIELDS, REPLICATE_MODELS } from './model-input.ts';
import { createReplicateProvider } from './replicate.ts';

function readSettings(env: Environment) {
  const apiToken = secret(env, 'REPLICATE_API_TOKEN');
  const settings = {
    baseUrl: webAddress(env, 'REPLICATE_BASE_URL') ?? 'https://api.replicate.com',
    webhookSecret: webhookSecret(env, 'REPLICATE_WEBHOOK_SECRET'),
    models: readModels(env, 'REPLICATE', REPLICATE_MODELS),
    listLagSeconds: isSet(env, 'REPLICATE_LIST_LAG_SECONDS')
      ? number(env, 'REPLICATE_LIST_LAG_SECONDS', 0)
      : undefined,
  };
  return apiToken === undefined ? undefined : { ...settings, apiToken };
}

function isSet(env: Environment, name: string): boolean {
  return read(env, name, '') !== '';
}

/** A webhook's secret as Replicate shows it: `whsec_` and a key in base64. */
function webhookSecret(env: Environment, name: string): string | undefined {
  const text = secret(env, name);
  if (text === undefined || /^whsec_[A-Za-z0-9+/]+=*$/.test(text)) return text;
  // The value is not shown.
  throw new UsageError(
    `${name} is not valid: expected whsec_ and the key after it, as Replicate shows it`,
  );
}

type Settings = NonNullable<ReturnType<typeof readSettings>>;

export const replicate: ProviderDefinition<Settings> = {
  name: 'replicate',
  registeredBy: [{ variable: 'REPLICATE_API_TOKEN', wanted: 'an API token of Replicate' }],
  readSettings,
  apiKey: ({ apiToken }) => apiToken,
  baseUrls: ({ baseUrl }) => ({ REPLICATE_BASE_URL: baseUrl }),
  fetchesInputs: true,
  fields: { table: REPLICATE_FIELDS },
  create: (settings, deps) => createReplicateProvider({ ...settings, ...remoteOf(deps) }),
};
