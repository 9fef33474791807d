import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOneLineAbout } from '../../test/providers/settings.ts';
import { recordingLog } from '../../test/recording-log.ts';
import { readConfig } from './config.ts';
import { checkProviderAddresses } from './provider-addresses.ts';

const ARK = { PROVIDER: 'ark', ARK_API_KEY: 'hunter2' };
const LOCAL_ARK = { ...ARK, ARK_BASE_URL: 'http://127.0.0.1:9000/api/v3' };

const REFUSED: Array<Record<string, string>> = [
  ARK,
  { ...ARK, PORT: '0' },
  { ...ARK, PUBLIC_URL: 'http://video.example.com' },
  { ...ARK, PUBLIC_URL: 'http://video.example.com', PROVIDER_ALLOW: 'video.example.com:8080' },
  { PROVIDER: 'fal', FAL_API_KEY: 'hunter2' },
  { PROVIDER: 'replicate', REPLICATE_API_TOKEN: 'hunter2', PUBLIC_URL: 'http://10.0.0.1' },
];
const WARNED: Array<Record<string, string>> = [
  LOCAL_ARK,
  { ...LOCAL_ARK, PORT: '0' },
  { ...ARK, ARK_BASE_URL: 'http://[::1]:9000/api/v3' },
  { ...ARK, PUBLIC_URL: 'http://video.example.com', PROVIDER_ALLOW: 'video.example.com:80' },
  { ...ARK, ARK_BASE_URL: 'https://ark.internal/v3', PROVIDER_ALLOW: 'ark.internal:443' },
  { PROVIDER: 'local', ARK_API_KEY: 'hunter2', REPLICATE_API_TOKEN: 'hunter2' },
];
const FINE: Array<Record<string, string>> = [
  {},
  { ...ARK, PUBLIC_URL: 'https://video.example.com' },
  {
    PROVIDER: 'comfyui',
    COMFYUI_BASE_URL: 'http://10.0.0.5:8188',
    COMFYUI_WORKFLOWS: 'a.json',
  },
];

test('a provider that fetches inputs needs an https PUBLIC_URL; a simulator causes a warning', () => {
  for (const env of REFUSED) {
    const check = () => checkProviderAddresses(readConfig(env), recordingLog().log);
    const refusal = isOneLineAbout(/^PUBLIC_URL .* https address/);
    assert.throws(check, refusal, JSON.stringify(env));
  }
  for (const [envs, warnings] of [[WARNED, 1] as const, [FINE, 0] as const]) {
    for (const env of envs) {
      const { log, lines } = recordingLog();
      checkProviderAddresses(readConfig(env), log);
      assert.equal(lines.length, warnings, JSON.stringify(env));
      assert.ok(!lines.join().includes('hunter2'));
    }
  }
});

test('an API key is sent unencrypted only to a test provider', () => {
  const key = { PROVIDER: 'local', ARK_API_KEY: 'hunter2' };
  const env = { ...key, ARK_BASE_URL: 'http://ark.example.com/api/v3' };
  const check = (more: Record<string, string> = {}) =>
    checkProviderAddresses(readConfig({ ...env, ...more }), recordingLog().log);
  assert.throws(check, { name: 'UsageError', message: /^ARK_BASE_URL .* must be https/ });
  check({ PROVIDER_ALLOW: 'ark.example.com:80' });
});
