import type { ProviderDefinition } from '../definition.ts';
import { TEST_PROVIDER } from '../test-provider.ts';
import { createScriptedProvider } from './scripted.ts';

/** The provider of tasks of test keys: the prompt says what becomes of a job (decisions/0048). */
export const scripted: ProviderDefinition<object> = {
  name: TEST_PROVIDER,
  isForTestKeys: true,
  registeredBy: [],
  readSettings: () => ({}),
  apiKey: () => undefined,
  baseUrls: () => ({}),
  fetchesInputs: false,
  create: (_settings, deps) => createScriptedProvider(deps),
};
