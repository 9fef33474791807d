import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ark } from '../../src/providers/ark/index.ts';
import { BYTEPLUS_MODELS, VOLCENGINE_MODELS } from '../../src/providers/ark/request.ts';
import { comfyui } from '../../src/providers/comfyui/index.ts';
import type { ProviderDefinition } from '../../src/providers/definition.ts';
import { fal } from '../../src/providers/fal/index.ts';
import { FAL_MODELS } from '../../src/providers/fal/model-input.ts';
import { openrouter } from '../../src/providers/openrouter/index.ts';
import { OPENROUTER_MODELS } from '../../src/providers/openrouter/request.ts';
import { replicate } from '../../src/providers/replicate/index.ts';
import { REPLICATE_MODELS } from '../../src/providers/replicate/model-input.ts';
import { assertRefused, createFrom, MALFORMED } from './settings.ts';

type Env = Record<string, string>;

interface Adapter {
  definition: Pick<ProviderDefinition<unknown>, 'name' | 'readSettings'>;
  /** What configures it, and its settings then. */
  least: Env;
  defaults: object;
  /** Further variables, and what they change. */
  more: Env;
  changes: object;
  malformed: Record<string, string[]>;
}

const COMFYUI_LEAST = {
  COMFYUI_BASE_URL: 'http://10.0.0.5:8188/',
  COMFYUI_WORKFLOWS: 'a.json, b.json',
};

const ADAPTERS: Adapter[] = [
  {
    definition: ark,
    least: { ARK_API_KEY: 'a' },
    defaults: {
      apiKey: 'a',
      baseUrl: 'https://ark.ap-southeast.bytepluses.com/api/v3',
      models: BYTEPLUS_MODELS,
      markAttempts: true,
      submitsPerMinute: 600,
    },
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
    defaults: {
      apiKey: 'f',
      queueUrl: 'https://queue.fal.run',
      platformUrl: 'https://api.fal.ai',
      jwksUrl: 'https://rest.fal.ai/.well-known/jwks.json',
      userId: undefined,
      models: FAL_MODELS,
      markAttempts: true,
    },
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
    defaults: {
      apiToken: 'r',
      baseUrl: 'https://api.replicate.com',
      webhookSecret: undefined,
      models: REPLICATE_MODELS,
      listLagSeconds: Number.POSITIVE_INFINITY,
    },
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
    defaults: {
      apiKey: 'k',
      baseUrl: 'https://openrouter.ai/api/v1',
      webhookSecret: undefined,
      models: OPENROUTER_MODELS,
    },
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
    least: COMFYUI_LEAST,
    defaults: {
      baseUrl: 'http://10.0.0.5:8188',
      authorization: undefined,
      workflowFiles: ['a.json', 'b.json'],
      frameRules: { framesPerSecond: 24, frameStep: 1 },
      jobLimitSeconds: 3600,
    },
    more: { COMFYUI_JOB_LIMIT_SECONDS: '60' },
    changes: { jobLimitSeconds: 60 },
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

for (const { definition, least, defaults, more, changes, malformed } of ADAPTERS) {
  test(`${definition.name} needs few variables, takes more, and refuses malformed ones`, () => {
    assert.equal(definition.readSettings({}), undefined);
    assert.deepEqual(definition.readSettings(least), defaults);
    const changed = definition.readSettings({ ...least, ...more });
    assert.deepEqual(changed, { ...defaults, ...changes });
    assertRefused(definition, malformed);
  });
}

test('the budget of submits to Ark is the configured one', async () => {
  const provider = await createFrom(ark, { ARK_API_KEY: 'a', ARK_SUBMITS_PER_MINUTE: '180' });
  assert.deepEqual(provider.capabilities.budgets.submit, { callsPerSecond: 3 });
});
