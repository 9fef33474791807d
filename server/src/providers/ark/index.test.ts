import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, createFrom, MALFORMED } from '../../../test/providers/settings.ts';
import { ark } from './index.ts';
import { BYTEPLUS_MODELS, VOLCENGINE_MODELS } from './request.ts';

test('an API key alone configures Ark, with its public address and defaults', () => {
  assert.deepEqual(ark.readSettings({ ARK_API_KEY: 'a' }), {
    apiKey: 'a',
    baseUrl: 'https://ark.ap-southeast.bytepluses.com/api/v3',
    models: BYTEPLUS_MODELS,
    markAttempts: true,
    submitsPerMinute: 600,
  });
  assert.equal(ark.readSettings({}), undefined);
});

test('variables that are set replace the defaults', () => {
  const settings = ark.readSettings({
    ARK_API_KEY: 'a',
    ARK_BASE_URL: 'https://ark.cn-beijing.volces.com/api/v3/',
    ARK_MODEL: 'ep-2026',
    ARK_MARK_ATTEMPTS: 'no',
    ARK_SUBMITS_PER_MINUTE: '180',
  });
  assert.deepEqual(settings, {
    apiKey: 'a',
    baseUrl: 'https://ark.cn-beijing.volces.com/api/v3',
    models: { ...VOLCENGINE_MODELS, 'video-2.0': 'ep-2026' },
    markAttempts: false,
    submitsPerMinute: 180,
  });
});

test('the budget of submits is the configured one', async () => {
  const provider = await createFrom(ark, { ARK_API_KEY: 'a', ARK_SUBMITS_PER_MINUTE: '180' });
  assert.deepEqual(provider.capabilities.budgets.submit, { callsPerSecond: 3 });
});

test('a malformed value is refused, also without an API key', () => {
  assertRefused(ark, {
    ARK_BASE_URL: MALFORMED.address,
    ARK_API_KEY: MALFORMED.secret,
    ARK_MODEL: MALFORMED.model,
    ARK_MODEL_FAST: MALFORMED.model,
    ARK_MODEL_MINI: MALFORMED.model,
    ARK_MARK_ATTEMPTS: ['true', '1', 'YES'],
    ARK_SUBMITS_PER_MINUTE: ['0', '-1', 'many', '1e3', '99999999'],
  });
});
