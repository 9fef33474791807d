import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, MALFORMED } from '../../../test/providers/settings.ts';
import { replicate } from './index.ts';
import { REPLICATE_MODELS } from './model-input.ts';

const DEFAULTS = {
  apiToken: 'r',
  baseUrl: 'https://api.replicate.com',
  webhookSecret: undefined,
  models: REPLICATE_MODELS,
  listLagSeconds: Number.POSITIVE_INFINITY,
};

test('an API token alone configures Replicate, with its public address and defaults', () => {
  assert.deepEqual(replicate.readSettings({ REPLICATE_API_TOKEN: 'r' }), DEFAULTS);
  assert.equal(replicate.readSettings({}), undefined);
});

test('variables that are set replace the defaults', () => {
  const settings = replicate.readSettings({
    REPLICATE_API_TOKEN: 'r',
    REPLICATE_WEBHOOK_SECRET: 'whsec_c2VjcmV0',
    REPLICATE_LIST_LAG_SECONDS: '0',
    REPLICATE_MODEL_MINI: 'acme/mini',
  });
  assert.deepEqual(settings, {
    ...DEFAULTS,
    webhookSecret: 'whsec_c2VjcmV0',
    listLagSeconds: 0,
    models: { ...REPLICATE_MODELS, 'video-2.0-mini': 'acme/mini' },
  });
});

test('a malformed value is refused, also without an API token', () => {
  assertRefused(replicate, {
    REPLICATE_API_TOKEN: MALFORMED.secret,
    REPLICATE_BASE_URL: MALFORMED.address,
    REPLICATE_WEBHOOK_SECRET: ['hunter2', 'whsec_', 'whsec_hunter2!'],
    REPLICATE_MODEL: MALFORMED.model,
    REPLICATE_LIST_LAG_SECONDS: ['soon', '-1'],
  });
});
