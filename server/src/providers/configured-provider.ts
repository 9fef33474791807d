import { createHash } from 'node:crypto';
import { type Closures, learning } from './circuit-breaker/closures.ts';
import type { AdapterDeps, ProviderDefinition } from './definition.ts';
import { instrumented, type Observer } from './instrumented.ts';
import type { HostedProvider } from './provider.ts';
import { listTurns, rateLimited } from './rate-limiter/rate-limited.ts';

/** What the providers of a process share. */
export interface ProviderDeps extends Omit<AdapterDeps, 'nextListTurn'> {
  observer: Observer;
  closures: Pick<Closures, 'observe'>;
}

/** A provider whose settings were read. Hides the type of the settings. */
export type ConfiguredProvider = ReturnType<typeof configureProvider>;

/** The operator's choices that every provider has. */
type Policy = Pick<HostedProvider, 'assumeAbsentAfterHours'>;

/** Binds a definition to the settings that were read for it. */
export function configureProvider<Settings>(
  definition: ProviderDefinition<Settings>,
  settings: Settings,
  policy: Policy = {},
) {
  const { name, fetchesInputs } = definition;
  /** See {@link ProviderDefinition.baseUrls}. */
  const baseUrls = definition.baseUrls(settings);
  return { name, fetchesInputs, baseUrls, definition, settings, policy };
}

/** Creates the provider, with its rate limits and its instrumentation. */
async function createProvider(
  { definition, settings, policy }: ConfiguredProvider,
  { observer, closures, ...deps }: ProviderDeps,
): Promise<HostedProvider> {
  const quota = { db: deps.db, name: quotaName(definition.name, definition.apiKey(settings)) };
  // A function, because the provider does not exist yet.
  const nextListTurn = listTurns(quota, () => provider.capabilities);
  const provider = await definition.create(settings, { ...deps, nextListTurn });
  if (definition.isForTestKeys) return provider;
  return {
    ...rateLimited(learning(instrumented(provider, observer), closures), quota),
    ...policy,
  };
}

/** Rate limits are per API key; only a hash of the key is stored. */
function quotaName(provider: string, apiKey: string | undefined): string {
  if (apiKey === undefined) return provider;
  const hash = createHash('sha256').update(apiKey).digest('hex').slice(0, 12);
  return `${provider} ${hash}`;
}

/**
 * Creates the configured providers. The keys are their names.
 * @throws UsageError, one line, when a setting can't be used
 */
export async function createProviders(
  configured: ConfiguredProvider[],
  deps: ProviderDeps,
): Promise<Map<string, HostedProvider>> {
  const providers = new Map<string, HostedProvider>();
  for (const one of configured) providers.set(one.name, await createProvider(one, deps));
  return providers;
}
