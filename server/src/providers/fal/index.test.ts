import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, createFrom, MALFORMED } from '../../../test/providers/settings.ts';
import { UsageError } from '../../kernel/errors.ts';
import { fal } from './index.ts';
import { FAL_MODELS } from './model-input.ts';

const DEFAULTS = {
  apiKey: 'f',
  queueUrl: 'https://queue.fal.run',
  platformUrl: 'https://api.fal.ai',
  jwksUrl: 'https://rest.fal.ai/.well-known/jwks.json',
  userId: undefined,
  models: FAL_MODELS,
  markAttempts: true,
};

test('an API key alone configures fal, with its public addresses and defaults', () => {
  assert.deepEqual(fal.readSettings({ FAL_API_KEY: 'f' }), DEFAULTS);
  assert.equal(fal.readSettings({ FAL_API_KEY: ' ' }), undefined);
});

test('variables that are set replace the defaults', () => {
  assert.deepEqual(
    fal.readSettings({ FAL_API_KEY: 'f', FAL_MARK_ATTEMPTS: 'no', FAL_USER_ID: 'us_1' }),
    { ...DEFAULTS, markAttempts: false, userId: 'us_1' },
  );
});

test('with models of another app the service does not start, and the message names them', async () => {
  await assert.rejects(
    createFrom(fal, { FAL_API_KEY: 'f', FAL_MODEL: 'acme/other' }),
    (error: unknown) =>
      error instanceof UsageError && /^FAL_MODEL, .*acme\/other/.test(error.message),
  );
});

test('a malformed value is refused, also without an API key', () => {
  assertRefused(fal, {
    FAL_API_KEY: MALFORMED.secret,
    FAL_QUEUE_URL: MALFORMED.address,
    FAL_PLATFORM_URL: MALFORMED.address,
    FAL_JWKS_URL: MALFORMED.address,
    FAL_MARK_ATTEMPTS: ['on'],
    FAL_MODEL: MALFORMED.model,
  });
});
