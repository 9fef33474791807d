import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UsageError } from '../kernel/errors.ts';
import { readConfig } from './config.ts';
import { readProviders, variableFor } from './provider-config.ts';

const NO_MODELS = {
  'video-2.0': undefined,
  'video-2.0-fast': undefined,
  'video-2.0-mini': undefined,
};

const COMFYUI = { COMFYUI_BASE_URL: 'http://10.0.0.5:8188/', COMFYUI_WORKFLOWS: 'a.json, b.json' };

function isOneLineAbout(name: string): (error: unknown) => boolean {
  return (error) =>
    error instanceof UsageError && error.message.includes(name) && !error.message.includes('\n');
}

test('a key alone configures a provider, with its public addresses and defaults', () => {
  const keys = { ARK_API_KEY: 'a', FAL_API_KEY: 'f', REPLICATE_API_TOKEN: 'r', ...COMFYUI };
  const models = NO_MODELS;
  assert.deepEqual(readProviders(keys, 'local'), {
    ark: {
      ...{ apiKey: 'a', baseUrl: 'https://ark.ap-southeast.bytepluses.com/api/v3', models },
      ...{ markAttempts: true, submitsPerMinute: 600 },
    },
    fal: {
      ...{ apiKey: 'f', queueUrl: 'https://queue.fal.run', platformUrl: undefined },
      ...{ jwksUrl: undefined, userId: undefined, models, markAttempts: true },
    },
    replicate: {
      ...{ apiToken: 'r', baseUrl: 'https://api.replicate.com', webhookSecret: undefined },
      ...{ models, listLagSeconds: undefined },
    },
    comfyui: {
      ...{ baseUrl: 'http://10.0.0.5:8188', authorization: undefined },
      ...{ workflowFiles: ['a.json', 'b.json'], framesPerSecond: 24, frameStep: 1 },
      jobLimitSeconds: 3600,
    },
  });
});

test('what is set takes the place of the defaults', () => {
  const { ark, fal, replicate } = readProviders(
    {
      ...{ ARK_API_KEY: 'a', ARK_BASE_URL: 'https://ark.cn-beijing.volces.com/api/v3/' },
      ...{ ARK_MODEL: 'ep-2026', ARK_MARK_ATTEMPTS: 'no', ARK_SUBMITS_PER_MINUTE: '180' },
      ...{ FAL_API_KEY: 'f', FAL_MARK_ATTEMPTS: 'no', FAL_USER_ID: 'us_1' },
      ...{ REPLICATE_API_TOKEN: 'r', REPLICATE_WEBHOOK_SECRET: 'whsec_c2VjcmV0' },
      ...{ REPLICATE_LIST_LAG_SECONDS: '0', REPLICATE_MODEL_MINI: 'acme/mini' },
    },
    'ark',
  );
  assert.equal(ark?.baseUrl, 'https://ark.cn-beijing.volces.com/api/v3');
  assert.deepEqual(ark?.models, { ...NO_MODELS, 'video-2.0': 'ep-2026' });
  assert.deepEqual([ark?.markAttempts, ark?.submitsPerMinute], [false, 180]);
  assert.deepEqual([fal?.markAttempts, fal?.userId], [false, 'us_1']);
  assert.deepEqual([replicate?.webhookSecret, replicate?.listLagSeconds], ['whsec_c2VjcmV0', 0]);
  assert.equal(replicate?.models['video-2.0-mini'], 'acme/mini');
});

const MISSING: Array<[name: string, env: Record<string, string>]> = [
  ['ARK_API_KEY', { PROVIDER: 'ark' }],
  ['FAL_API_KEY', { PROVIDER: 'fal', FAL_API_KEY: ' ' }],
  ['REPLICATE_API_TOKEN', { PROVIDER: 'replicate' }],
  ['COMFYUI_BASE_URL', { PROVIDER: 'comfyui' }],
  ['COMFYUI_WORKFLOWS', { PROVIDER: 'comfyui', COMFYUI_BASE_URL: 'http://10.0.0.5:8188' }],
  ['COMFYUI_WORKFLOWS', { COMFYUI_BASE_URL: 'http://10.0.0.5:8188' }],
];

test('the chosen provider must be complete, and a comfyui that is begun', () => {
  for (const [name, env] of MISSING) {
    assert.throws(() => readConfig(env), isOneLineAbout(`${name} is not set`), JSON.stringify(env));
  }
});

const ADDRESS = ['ark.example.com', 'ftp://x', 'https://x/?a=b', 'https://ada:hunter2@x'];
const MODEL = ['a b', '/a', 'a//b', 'a?b', 'a#b', 'a/'];
const KEY = ['hunter2\u00e9', 'hunter2\nx', 'hunter2\u0000'];
const BAD: Record<string, string[]> = {
  ARK_BASE_URL: ADDRESS,
  ARK_API_KEY: KEY,
  ARK_MODEL: MODEL,
  ARK_MODEL_FAST: MODEL,
  ARK_MODEL_MINI: MODEL,
  ARK_MARK_ATTEMPTS: ['true', '1', 'YES'],
  ARK_SUBMITS_PER_MINUTE: ['0', '-1', 'many', '1e3', '99999999'],
  FAL_API_KEY: KEY,
  FAL_QUEUE_URL: ADDRESS,
  FAL_PLATFORM_URL: ADDRESS,
  FAL_JWKS_URL: ADDRESS,
  FAL_MARK_ATTEMPTS: ['on'],
  FAL_MODEL: MODEL,
  REPLICATE_API_TOKEN: KEY,
  REPLICATE_BASE_URL: ADDRESS,
  REPLICATE_WEBHOOK_SECRET: ['hunter2', 'whsec_', 'whsec_hunter2!'],
  REPLICATE_MODEL: MODEL,
  REPLICATE_LIST_LAG_SECONDS: ['soon', '-1'],
  COMFYUI_BASE_URL: ADDRESS,
  COMFYUI_AUTHORIZATION: KEY,
  COMFYUI_WORKFLOWS: [',', 'a.json,', 'a.json,,b.json'],
  COMFYUI_FRAMES_PER_SECOND: ['0', 'film'],
  COMFYUI_FRAME_STEP: ['0', '1.5'],
  COMFYUI_JOB_LIMIT_SECONDS: ['0', 'for ever'],
};

test('a malformed value stops the start, whichever provider is chosen, and tells no secret', () => {
  for (const [name, values] of Object.entries(BAD)) {
    for (const value of values) {
      assert.throws(
        () => readConfig({ [name]: value }),
        (error: Error) => isOneLineAbout(name)(error) && !error.message.includes('hunter2'),
        `${name}=${value}`,
      );
    }
  }
});

test('a provider is missed by the variable that configures it', () => {
  assert.equal(variableFor('replicate'), 'REPLICATE_API_TOKEN');
  assert.equal(variableFor('comfyui'), 'COMFYUI_BASE_URL');
  assert.equal(variableFor('openai'), undefined);
});
