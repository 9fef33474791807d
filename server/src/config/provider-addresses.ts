import { UsageError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import type { Config } from './config.ts';

type AddressConfig = Pick<
  Config,
  'provider' | 'configuredProviders' | 'publicUrl' | 'outboundAllow'
>;

/**
 * Checks the addresses of providers, and PUBLIC_URL for providers that fetch from it, at the start.
 * @throws UsageError that says what to set
 */
export function checkProviderAddresses(config: AddressConfig, log: Log): void {
  checkBaseUrls(config);
  checkPublicUrl(config, log);
}

/** API keys are sent over plain http only to loopback hosts and to hosts on OUTBOUND_ALLOW. */
function checkBaseUrls({ configuredProviders, outboundAllow }: AddressConfig): void {
  const addresses = configuredProviders.flatMap(({ baseUrls }) => Object.entries(baseUrls));
  for (const [variable, address] of addresses) {
    if (address === undefined || address.startsWith('https:') || isLoopback(address)) continue;
    if (outboundAllow.has(hostAndPort(address))) continue;
    throw new UsageError(
      `${variable} is ${address}: the API key would be sent unencrypted, so it must be https ` +
        '(or, for a test provider, its host:port on OUTBOUND_ALLOW)',
    );
  }
}

/**
 * Checks that a foreign provider, which fetches inputs and calls back, gets https links.
 * Exceptions, with a warning: the provider or the public address is on OUTBOUND_ALLOW, or the
 * provider is on this machine (a simulator). A provider that only finishes its tasks is not
 * checked.
 * @throws UsageError that says what to set
 */
function checkPublicUrl(config: AddressConfig, log: Log): void {
  const providerUrl = fetchingProviderUrl(config);
  const { publicUrl, outboundAllow, provider } = config;
  if (providerUrl === undefined || publicUrl?.startsWith('https:')) return;
  const isExcepted =
    isLoopback(providerUrl) ||
    outboundAllow.has(hostAndPort(providerUrl)) ||
    (publicUrl !== undefined && outboundAllow.has(hostAndPort(publicUrl)));
  if (!isExcepted) {
    throw new UsageError(
      `PUBLIC_URL is ${publicUrl ?? 'not set'}: PROVIDER=${provider} fetches inputs and calls ` +
        'back there, so it must be an https address such as https://video.example.com',
    );
  }
  log.warn({ publicUrl, provider }, 'PUBLIC_URL is not https: only a test provider can reach it');
}

/** Where the chosen provider takes jobs; undefined if it does not fetch from PUBLIC_URL. */
function fetchingProviderUrl(config: AddressConfig): string | undefined {
  const chosen = config.configuredProviders.find(({ name }) => name === config.provider);
  if (!chosen?.fetchesInputs) return undefined;
  const [jobsUrl] = Object.values(chosen.baseUrls);
  return jobsUrl;
}

function isLoopback(address: string): boolean {
  return /^(localhost|.+\.localhost|127\.[\d.]+|\[::1\])$/.test(new URL(address).hostname);
}

/** Spelt as in OUTBOUND_ALLOW. */
function hostAndPort(address: string): string {
  const { protocol, hostname, port } = new URL(address);
  return `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`;
}
