import { UsageError } from '../../kernel/errors.ts';
import { type Environment, number, read, secret, webAddress } from '../../kernel/variables.ts';
import { readModels } from '../kit/configured-models.ts';
import type { Api } from '../kit/remote.ts';
import { REPLICATE_MODELS } from './model-input.ts';

export type ReplicateSettings = NonNullable<ReturnType<typeof readReplicateSettings>>;

export function readReplicateSettings(env: Environment) {
  const apiToken = secret(env, 'REPLICATE_API_TOKEN');
  const settings = {
    baseUrl: webAddress(env, 'REPLICATE_BASE_URL') ?? 'https://api.replicate.com',
    /** Fetched from Replicate if it is not set. */
    webhookSecret: webhookSecret(env, 'REPLICATE_WEBHOOK_SECRET'),
    models: readModels(env, 'REPLICATE', REPLICATE_MODELS),
    /**
     * Seconds after which the list shows every new prediction, if an operator knows: from then on,
     * a prediction that is not listed does not exist. Infinite: absence is always weak, because
     * Replicate does not promise how soon the list shows a prediction.
     */
    listLagSeconds: read(env, 'REPLICATE_LIST_LAG_SECONDS', '')
      ? number(env, 'REPLICATE_LIST_LAG_SECONDS', 0)
      : Number.POSITIVE_INFINITY,
  };
  return apiToken === undefined ? undefined : { ...settings, apiToken };
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

export interface Replicate extends ReplicateSettings {
  api: Api;
}

/** 600 a minute for an account. Source: Replicate docs, rate limits. */
export const CREATES_PER_SECOND = 10;
