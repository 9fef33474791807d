import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ark } from '../../src/providers/ark/index.ts';
import { VOLCENGINE_MODELS } from '../../src/providers/ark/request.ts';
import { comfyui } from '../../src/providers/comfyui/index.ts';
import type { ProviderDefinition } from '../../src/providers/definition.ts';
import { fal } from '../../src/providers/fal/index.ts';
import { openrouter } from '../../src/providers/openrouter/index.ts';
import { OPENROUTER_MODELS } from '../../src/providers/openrouter/request.ts';
import { replicate } from '../../src/providers/replicate/index.ts';
import { REPLICATE_MODELS } from '../../src/providers/replicate/model-input.ts';
import { assertRefused, createFrom, MALFORMED } from './settings.ts';

type Env = Record<string, string>;

interface Adapter {
  definition: Pick<ProviderDefinition<unknown>, 'name' | 'readSettings'>;
  /** What configures it. */
  least: Env;
  /** Further variables, and what they change. */
  more: Env;
  changes: object;
  malformed: Record<string, string[]>;
}

const ADAPTERS: Adapter[] = [
  {
    definition: ark,
    least: { ARK_API_KEY: 'a' },
    more: {
      ARK_BASE_URL: 'https://ark.cn-beijing.volces.com/api/v3/',
      ARK_MODEL: 'ep-2026',
      ARK_MARK_ATTEMPTS: 'no',
      ARK_SUBMITS_PER_MINUTE: '180',
    },
    changes: {
      baseUrl: 'https://ark.cn-beijing.volces.com/api/v3',
      models: { ...VOLCENGINE_MODELS, 'video-2.0': 'ep-2026' },
      markAttempts: false,
      submitsPerMinute: 180,
    },
    malformed: {
      ARK_BASE_URL: MALFORMED.address,
      ARK_API_KEY: MALFORMED.secret,
      ARK_MODEL: MALFORMED.model,
      ARK_MODEL_FAST: MALFORMED.model,
      ARK_MODEL_MINI: MALFORMED.model,
      ARK_MARK_ATTEMPTS: ['true', '1', 'YES'],
      ARK_SUBMITS_PER_MINUTE: ['0', '-1', 'many', '1e3', '99999999'],
    },
  },
  {
    definition: fal,
    least: { FAL_API_KEY: 'f' },
    more: { FAL_MARK_ATTEMPTS: 'no', FAL_USER_ID: 'us_1' },
    changes: { markAttempts: false, userId: 'us_1' },
    malformed: {
      FAL_API_KEY: MALFORMED.secret,
      FAL_QUEUE_URL: MALFORMED.address,
      FAL_PLATFORM_URL: MALFORMED.address,
      FAL_JWKS_URL: MALFORMED.address,
      FAL_MARK_ATTEMPTS: ['on'],
      FAL_MODEL: MALFORMED.model,
    },
  },
  {
    definition: replicate,
    least: { REPLICATE_API_TOKEN: 'r' },
    more: {
      REPLICATE_WEBHOOK_SECRET: 'whsec_c2VjcmV0',
      REPLICATE_LIST_LAG_SECONDS: '0',
      REPLICATE_MODEL_MINI: 'acme/mini',
    },
    changes: {
      webhookSecret: 'whsec_c2VjcmV0',
      listLagSeconds: 0,
      models: { ...REPLICATE_MODELS, 'video-2.0-mini': 'acme/mini' },
    },
    malformed: {
      REPLICATE_API_TOKEN: MALFORMED.secret,
      REPLICATE_BASE_URL: MALFORMED.address,
      REPLICATE_WEBHOOK_SECRET: ['hunter2', 'whsec_', 'whsec_hunter2!'],
      REPLICATE_MODEL: MALFORMED.model,
      REPLICATE_LIST_LAG_SECONDS: ['soon', '-1'],
    },
  },
  {
    definition: openrouter,
    least: { OPENROUTER_API_KEY: 'k' },
    more: {
      OPENROUTER_BASE_URL: 'https://gateway.example/v1/',
      OPENROUTER_WEBHOOK_SECRET: 'a secret',
      OPENROUTER_MODEL_MINI: 'acme/mini',
    },
    changes: {
      baseUrl: 'https://gateway.example/v1',
      webhookSecret: 'a secret',
      models: { ...OPENROUTER_MODELS, 'video-2.0-mini': 'acme/mini' },
    },
    malformed: {
      OPENROUTER_API_KEY: MALFORMED.secret,
      OPENROUTER_BASE_URL: MALFORMED.address,
      OPENROUTER_WEBHOOK_SECRET: MALFORMED.secret,
      OPENROUTER_MODEL: MALFORMED.model,
    },
  },
  {
    definition: comfyui,
    least: { COMFYUI_BASE_URL: 'http://10.0.0.5:8188/', COMFYUI_WORKFLOWS: 'a.json, b.json' },
    more: { COMFYUI_JOB_LIMIT_SECONDS: '60' },
    changes: {
      baseUrl: 'http://10.0.0.5:8188',
      workflowFiles: ['a.json', 'b.json'],
      jobLimitSeconds: 60,
    },
    malformed: {
      COMFYUI_BASE_URL: MALFORMED.address,
      COMFYUI_AUTHORIZATION: MALFORMED.secret,
      COMFYUI_WORKFLOWS: [',', 'a.json,', 'a.json,,b.json'],
      COMFYUI_FRAMES_PER_SECOND: ['0', 'film'],
      COMFYUI_FRAME_STEP: ['0', '1.5'],
      COMFYUI_JOB_LIMIT_SECONDS: ['0', 'for ever'],
    },
  },
];

for (const { definition, least, more, changes, malformed } of ADAPTERS) {
  test(`${definition.name} needs few variables, takes more, and refuses malformed ones`, () => {
    assert.equal(definition.readSettings({}), undefined);
    // Its defaults are those of its page: repository/operations-docs.test.ts.
    assert.ok(definition.readSettings(least));
    assert.partialDeepStrictEqual(definition.readSettings({ ...least, ...more }), changes);
    assertRefused(definition, malformed);
  });
}

test('the budget of submits to Ark is the configured one', async () => {
  const provider = await createFrom(ark, { ARK_API_KEY: 'a', ARK_SUBMITS_PER_MINUTE: '180' });
  assert.deepEqual(provider.capabilities.budgets.submit, { callsPerSecond: 3 });
});
