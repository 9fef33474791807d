import { type Environment, read, secret, webAddress, yesOrNo } from '../../kernel/variables.ts';
import { readModels } from '../kit/configured-models.ts';
import type { Api } from '../kit/remote.ts';
import { FAL_MODELS } from './model-input.ts';

export type FalSettings = NonNullable<ReturnType<typeof readFalSettings>>;

export function readFalSettings(env: Environment) {
  const apiKey = secret(env, 'FAL_API_KEY');
  const settings = {
    /** Takes requests and shows their status. */
    queueUrl: webAddress(env, 'FAL_QUEUE_URL') ?? 'https://queue.fal.run',
    /** Lists the account's past requests. */
    platformUrl: webAddress(env, 'FAL_PLATFORM_URL') ?? 'https://api.fal.ai',
    jwksUrl: webAddress(env, 'FAL_JWKS_URL') ?? 'https://rest.fal.ai/.well-known/jwks.json',
    /** If set, a webhook that is signed for another fal user counts as forged. */
    userId: read(env, 'FAL_USER_ID', '') || undefined,
    models: readModels(env, 'FAL', FAL_MODELS),
    /**
     * Sends the attempt's id as `end_user_id`, which the request history may show. The field is
     * meant to name a person, so this can be switched off. Then equal requests that were sent
     * within minutes can't be told apart.
     */
    markAttempts: yesOrNo(env, 'FAL_MARK_ATTEMPTS', 'yes'),
  };
  return apiKey === undefined ? undefined : { ...settings, apiKey };
}

/** An account at fal, as its adapter uses it. */
export interface Fal extends FalSettings {
  api: Api;
  /** Requests are read under this `owner/app`, without the rest of their endpoint's path. */
  app: string;
  now(): number;
}

/** A request that has not started after this time never starts. */
export const START_TIMEOUT_SECONDS = 3600;
/** fal names no limit for a run; Seedance takes far less than an hour. */
const RUN_LIMIT_SECONDS = 3600;
/** At the latest this many seconds after its submit, a request has succeeded or failed. */
export const JOB_LIMIT_SECONDS = START_TIMEOUT_SECONDS + RUN_LIMIT_SECONDS;
