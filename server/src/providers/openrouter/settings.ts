import { type Environment, secret, webAddress } from '../../kernel/variables.ts';
import { readModels } from '../kit/configured-models.ts';
import type { Api } from '../kit/remote.ts';
import { OPENROUTER_MODELS } from './request.ts';

export type OpenRouterSettings = NonNullable<ReturnType<typeof readOpenRouterSettings>>;

export function readOpenRouterSettings(env: Environment) {
  const apiKey = secret(env, 'OPENROUTER_API_KEY');
  const settings = {
    baseUrl: readBaseUrl(env),
    /**
     * The signing secret of the key's workspace, where it is set up by hand: no call reads it.
     * Without one, OpenRouter does not sign callbacks, and they are only hints.
     */
    webhookSecret: secret(env, 'OPENROUTER_WEBHOOK_SECRET'),
    models: readModels(env, 'OPENROUTER', OPENROUTER_MODELS),
  };
  return apiKey === undefined ? undefined : { ...settings, apiKey };
}

export function readBaseUrl(env: Environment): string {
  return webAddress(env, 'OPENROUTER_BASE_URL') ?? 'https://openrouter.ai/api/v1';
}

/** An account at OpenRouter, as its adapter uses it. */
export interface OpenRouter extends OpenRouterSettings {
  api: Api;
  /** For every call to the base URL's own host. */
  headers: { authorization: string };
}
