import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, MALFORMED } from '../../../test/providers/settings.ts';
import { openrouter } from './index.ts';
import { OPENROUTER_MODELS } from './request.ts';

const DEFAULTS = {
  apiKey: 'k',
  baseUrl: 'https://openrouter.ai/api/v1',
  webhookSecret: undefined,
  models: OPENROUTER_MODELS,
};

test('an API key alone configures OpenRouter, with its public address and defaults', () => {
  assert.deepEqual(openrouter.readSettings({ OPENROUTER_API_KEY: 'k' }), DEFAULTS);
  assert.equal(openrouter.readSettings({}), undefined);
});

test('variables that are set replace the defaults', () => {
  const settings = openrouter.readSettings({
    OPENROUTER_API_KEY: 'k',
    OPENROUTER_BASE_URL: 'https://gateway.example/v1/',
    OPENROUTER_WEBHOOK_SECRET: 'a secret',
    OPENROUTER_MODEL_MINI: 'acme/mini',
  });
  assert.deepEqual(settings, {
    apiKey: 'k',
    baseUrl: 'https://gateway.example/v1',
    webhookSecret: 'a secret',
    models: { ...OPENROUTER_MODELS, 'video-2.0-mini': 'acme/mini' },
  });
});

test('a malformed value is refused, also without an API key', () => {
  assertRefused(openrouter, {
    OPENROUTER_API_KEY: MALFORMED.secret,
    OPENROUTER_BASE_URL: MALFORMED.address,
    OPENROUTER_WEBHOOK_SECRET: MALFORMED.secret,
    OPENROUTER_MODEL: MALFORMED.model,
  });
});
