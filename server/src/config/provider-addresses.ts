import { UsageError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import { isAllowed, isLoopback, mayGetSecrets } from '../outbound/addresses.ts';
import type { Config } from './config.ts';

type AddressConfig = Pick<
  Config,
  'provider' | 'configuredProviders' | 'publicUrl' | 'providerHosts'
>;

/** @throws UsageError that says what to set */
export function checkProviderAddresses(config: AddressConfig, log: Log): void {
  checkBaseUrls(config);
  checkPublicUrl(config, log);
}

function checkBaseUrls({ configuredProviders, providerHosts }: AddressConfig): void {
  const addresses = configuredProviders.flatMap(({ baseUrls }) => Object.entries(baseUrls));
  for (const [variable, address] of addresses) {
    if (mayGetSecrets(address, providerHosts)) continue;
    throw new UsageError(
      `${variable} is ${address}: the API key would be sent unencrypted, so it must be https ` +
        '(or, for a test provider, its host:port on PROVIDER_ALLOW)',
    );
  }
}

/**
 * PUBLIC_URL must be https if the provider of new tasks fetches inputs from it and calls it back.
 * It is only a warning if the provider or PUBLIC_URL is on PROVIDER_ALLOW, if the provider is on
 * this machine (a simulator), or if only other connections need it: those get tasks by routes only.
 */
function checkPublicUrl(config: AddressConfig, log: Log): void {
  const { publicUrl, providerHosts, provider } = config;
  const fetching = config.configuredProviders.filter(({ fetchesInputs }) => fetchesInputs);
  if (fetching.length === 0 || publicUrl?.startsWith('https:')) return;
  const chosen = fetching.find(({ name }) => name === provider);
  const [providerUrl] = Object.values(chosen?.baseUrls ?? {});
  const isExcepted =
    providerUrl === undefined || // only other connections fetch inputs
    isLoopback(providerUrl) ||
    isAllowed(new URL(providerUrl), providerHosts) ||
    (publicUrl !== undefined && isAllowed(new URL(publicUrl), providerHosts));
  if (!isExcepted) {
    throw new UsageError(
      `PUBLIC_URL is ${publicUrl ?? 'not set'}: PROVIDER=${provider} fetches inputs and calls ` +
        'back there, so it must be an https address such as https://video.example.com',
    );
  }
  const connections = fetching.map(({ name }) => name);
  log.warn({ publicUrl, connections }, 'PUBLIC_URL is not https: only test providers can reach it');
}
