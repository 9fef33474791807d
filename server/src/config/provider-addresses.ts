import { UsageError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import type { Config } from './config.ts';

type AddressConfig = Pick<
  Config,
  'provider' | 'configuredProviders' | 'publicUrl' | 'outboundAllow'
>;

/**
 * Holds the rules for addresses between foreign providers and us, before anything is sent.
 * @throws UsageError that says what to set
 */
export function checkProviderAddresses(config: AddressConfig, log: Log): void {
  checkBaseUrls(config);
  checkPublicUrl(config, log);
}

/** An API key does not travel in the clear, but to a provider on this machine or an allowed one. */
function checkBaseUrls({ configuredProviders, outboundAllow }: AddressConfig): void {
  const addresses = configuredProviders.flatMap(({ baseUrls }) => Object.entries(baseUrls));
  for (const [variable, address] of addresses) {
    if (address === undefined || address.startsWith('https:') || isLoopback(address)) continue;
    if (outboundAllow.has(hostAndPort(address))) continue;
    throw new UsageError(
      `${variable} is ${address}: the API key would travel in the clear, so it wants https ` +
        '(or, for a test provider, its host:port on OUTBOUND_ALLOW)',
    );
  }
}

/**
 * Holds the rule that a foreign provider, which fetches inputs and calls back, is given https
 * links. Three set-ups pass with a warning: a provider or a public address on OUTBOUND_ALLOW, and a
 * provider on this machine: a simulator. A provider that only finishes its tasks is not looked at.
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
        'back there, so it wants an https address such as https://video.example.com',
    );
  }
  log.warn({ publicUrl, provider }, 'PUBLIC_URL is not https: only a test provider can reach it');
}

/** Where a provider that fetches from us takes its jobs; undefined for any other provider. */
function fetchingProviderUrl(config: AddressConfig): string | undefined {
  const chosen = config.configuredProviders.find(({ name }) => name === config.provider);
  if (!chosen?.fetchesInputs) return undefined;
  const [jobsUrl] = Object.values(chosen.baseUrls);
  return jobsUrl;
}

function isLoopback(address: string): boolean {
  return /^(localhost|.+\.localhost|127\.[\d.]+|\[::1\])$/.test(new URL(address).hostname);
}

/** In the spelling of OUTBOUND_ALLOW. */
function hostAndPort(address: string): string {
  const { protocol, hostname, port } = new URL(address);
  return `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`;
}
