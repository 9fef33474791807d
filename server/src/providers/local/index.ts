import type { ProviderDefinition } from '../definition.ts';
import { TEST_PROVIDER } from '../test-provider.ts';
import { OWN_JOBS } from './jobs.ts';
import { createLocalProvider } from './local.ts';
import { createScriptedProvider } from './scripted.ts';

/** What both providers have in common: no variables, always configured, jobs in this database. */
const BUILT_IN = {
  needs: [],
  readSettings: () => ({}),
  apiKey: () => undefined,
  baseUrls: () => ({}),
  fetchesInputs: false,
};

export const local: ProviderDefinition<object> = {
  ...BUILT_IN,
  name: 'local',
  ownJobs: OWN_JOBS,
  create: (_settings, deps) => createLocalProvider(deps),
};

/** The provider of test keys: the prompt decides how a job ends (decisions/0048). */
export const scripted: ProviderDefinition<object> = {
  ...BUILT_IN,
  name: TEST_PROVIDER,
  isForTestKeys: true,
  create: (_settings, deps) => createScriptedProvider(deps),
};
