import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { isOneLineAbout, unusedDeps } from '../../test/providers/settings.ts';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { createProviders, neededVariables, PROVIDER_NAMES, readProviders } from './registry.ts';
import { TEST_PROVIDER } from './test-provider.ts';

/** A value that is valid for every needed variable: an address, a key, a path. */
const VALUE = 'http://10.0.0.5:8188';

function variablesOf(provider: string): string[] {
  return neededVariables(provider).map(({ variable }) => variable);
}

test('all configured providers are created, not only the one for new tasks', async () => {
  await using folder = await temporaryFolder();
  const file = path.join(folder.path, 'workflow.json');
  const inputs = { text: '{{prompt}}' };
  await writeFile(file, JSON.stringify({ 1: { class_type: 'CLIPTextEncode', inputs } }));
  const env = Object.fromEntries(PROVIDER_NAMES.flatMap(variablesOf).map((name) => [name, VALUE]));
  const configured = readProviders({ ...env, COMFYUI_WORKFLOWS: file }, 'local');
  const unexpected = () => assert.fail('nothing is called');
  const deps = { ...unusedDeps(), breaker: { observe: unexpected } };
  const providers = await createProviders(configured, deps);
  const names = [...PROVIDER_NAMES, TEST_PROVIDER];
  assert.deepEqual([...providers.keys()], names);
  const inUse = [...providers.values()].map(({ name }) => name);
  assert.deepEqual(inUse, names);
});

test('the chosen provider needs all its variables, and so does every other configured provider', () => {
  for (const provider of PROVIDER_NAMES) {
    const env: Record<string, string> = {};
    for (const [index, variable] of variablesOf(provider).entries()) {
      const missing = isOneLineAbout(`${variable} is not set`);
      assert.throws(() => readProviders(env, provider), missing);
      assert.throws(() => readProviders({ ...env, [variable]: ' ' }, provider), missing);
      if (index > 0) assert.throws(() => readProviders(env, 'local'), missing);
      env[variable] = VALUE;
    }
    assert.ok(readProviders(env, provider).some(({ name }) => name === provider));
  }
});

test('a misspelt variable of a provider is an error that suggests the nearest name', () => {
  const misspelt = {
    ARK_API_KY: 'ARK_API_KEY',
    FAL_KEY: 'FAL_API_KEY',
    COMFYUI_WORKFLOW: 'COMFYUI_WORKFLOWS',
  };
  for (const [wrong, right] of Object.entries(misspelt)) {
    const env = { [wrong]: 'hunter2' };
    const suggests = isOneLineAbout(wrong, `did you mean ${right}?`);
    assert.throws(() => readProviders(env, 'local'), suggests, wrong);
    assert.doesNotThrow(() => readProviders({ [wrong]: '' }, 'local'));
  }
  assert.doesNotThrow(() => readProviders({ LOCAL_API_KY: 'x', PATH: '/bin' }, 'local'));
});
