import { createHash } from 'node:crypto';
import type { AdapterDeps, ProviderDefinition } from '../definition.ts';
import type { Closures } from './closures.ts';
import type { HostedProvider } from './hosted-provider.ts';
import { instrumented, type Observer } from './instrumented.ts';
import { learning } from './learning.ts';
import { listTurns, rateLimited } from './rate-limited.ts';

/** What the providers of a process share. */
export interface ProviderDeps extends Omit<AdapterDeps, 'nextListTurn'> {
  observer: Observer;
  closures: Pick<Closures, 'observe'>;
}

/** A provider whose settings were read. Hides the type of the settings. */
export interface ConfiguredProvider {
  readonly name: string;
  /** See {@link ProviderDefinition.baseUrls}. */
  readonly baseUrls: Record<string, string | undefined>;
  readonly fetchesInputs: boolean;
  /**
   * Creates the provider, with its rate limits and its instrumentation.
   * @throws UsageError, one line, when a setting can't be used
   */
  create(deps: ProviderDeps): Promise<HostedProvider>;
}

/** The operator's choices that every provider has. */
type Policy = Pick<HostedProvider, 'assumeAbsentAfterHours'>;

/** Binds a definition to the settings that were read for it. */
export function configureProvider<Settings>(
  definition: ProviderDefinition<Settings>,
  settings: Settings,
  policy: Policy = {},
): ConfiguredProvider {
  return new Configured(definition, settings, policy);
}

class Configured<Settings> implements ConfiguredProvider {
  readonly definition: ProviderDefinition<Settings>;
  readonly settings: Settings;
  readonly policy: Policy;

  constructor(definition: ProviderDefinition<Settings>, settings: Settings, policy: Policy) {
    this.definition = definition;
    this.settings = settings;
    this.policy = policy;
  }

  get name() {
    return this.definition.name;
  }

  get baseUrls() {
    return this.definition.baseUrls(this.settings);
  }

  get fetchesInputs() {
    return this.definition.fetchesInputs;
  }

  async create({ observer, closures, ...deps }: ProviderDeps): Promise<HostedProvider> {
    const { definition, settings, policy } = this;
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
}

/** Rate limits are per API key; only a hash of the key is stored. */
function quotaName(provider: string, apiKey: string | undefined): string {
  if (apiKey === undefined) return provider;
  const hash = createHash('sha256').update(apiKey).digest('hex').slice(0, 12);
  return `${provider} ${hash}`;
}

/**
 * Creates the configured providers. The keys are their names.
 * @throws UsageError, see {@link ConfiguredProvider.create}
 */
export async function createProviders(
  configured: ConfiguredProvider[],
  deps: ProviderDeps,
): Promise<Map<string, HostedProvider>> {
  const providers = new Map<string, HostedProvider>();
  for (const one of configured) providers.set(one.name, await one.create(deps));
  return providers;
}
