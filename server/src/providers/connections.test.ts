import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOneLineAbout } from '../../test/providers/settings.ts';
import { readConfig } from '../config/config.ts';
import { readProviders } from './registry.ts';

const TWO = { CONNECTIONS: 'fal-2:fal, ark-eu:ark', FAL_2_API_KEY: 'k2', ARK_EU_API_KEY: 'ke' };

test('each connection has variables of its own, beside those of its kind', () => {
  const configured = readProviders({ ...TWO, FAL_API_KEY: 'k1' }, 'fal-2');
  const shown = configured.map(({ name, kind, definition, settings }) => {
    return `${name} ${kind} ${definition.apiKey(settings as never) ?? ''}`;
  });
  assert.deepEqual(shown, [
    'local local ',
    'fal fal k1',
    'scripted scripted ',
    'fal-2 fal k2',
    'ark-eu ark ke',
  ]);
});

test('a mistake in CONNECTIONS or in the variables of a connection is one line that names it', () => {
  const refused: Array<[name: string, env: Record<string, string>]> = [
    ['CONNECTIONS', { CONNECTIONS: 'fal-2' }],
    ['CONNECTIONS', { CONNECTIONS: 'Fal-2:fal' }],
    ['CONNECTIONS', { CONNECTIONS: 'second:local' }],
    ['CONNECTIONS', { CONNECTIONS: 'second:sora' }],
    ['CONNECTIONS', { CONNECTIONS: 'fal:ark' }],
    ['CONNECTIONS', { CONNECTIONS: 'a:fal,a:ark' }],
    ['CONNECTIONS', { CONNECTIONS: 'creates:fal', CREATES_API_KEY: 'k' }],
    ['FAL_2_API_KEY is not set', { CONNECTIONS: 'fal-2:fal' }],
    ['FAL_2_QUEUE_URL', { ...TWO, FAL_2_QUEUE_URL: 'ftp://x' }],
    ['did you mean FAL_2_API_KEY', { ...TWO, FAL_2_KEY: 'x' }],
    ['ARK_EU_MODEL_FATS', { ...TWO, ARK_EU_MODEL_FATS: 'x' }],
  ];
  for (const [name, env] of refused) {
    assert.throws(() => readProviders(env, 'local'), isOneLineAbout(name), JSON.stringify(env));
  }
});

test('a connection whose variables could be taken for others is refused', () => {
  const config = (env: Record<string, string>) => () => readConfig({ PROVIDER: 'local', ...env });
  assert.doesNotThrow(config(TWO));
  const refused: Record<string, string> = {
    'public:fal': 'PUBLIC_API_KEY',
    'fal-queue:fal': 'FAL_QUEUE_API_KEY',
    'a:fal,a-b:fal': 'A_API_KEY',
  };
  for (const [connections, variable] of Object.entries(refused)) {
    const env = { CONNECTIONS: connections, [variable]: 'k', A_B_API_KEY: 'k' };
    assert.throws(config(env), isOneLineAbout('CONNECTIONS'), connections);
  }
});
