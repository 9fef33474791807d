import { UsageError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import type { Config } from './config.ts';

type AddressConfig = Pick<
  Config,
  'provider' | 'configuredProviders' | 'publicUrl' | 'providerHosts'
>;

/**
 * Checks all provider URLs at the start, and PUBLIC_URL if the provider of new tasks fetches inputs
 * from it.
 * @throws UsageError that says what to set
 */
export function checkProviderAddresses(config: AddressConfig, log: Log): void {
  checkBaseUrls(config);
  checkPublicUrl(config, log);
}

/**
 * Refuses plain http, which exposes the API key, except to loopback and hosts on PROVIDER_ALLOW.
 */
function checkBaseUrls({ configuredProviders, providerHosts }: AddressConfig): void {
  const addresses = configuredProviders.flatMap(({ baseUrls }) => Object.entries(baseUrls));
  for (const [variable, address] of addresses) {
    if (address.startsWith('https:') || isLoopback(address)) continue;
    if (providerHosts.allow.has(hostAndPort(address))) continue;
    throw new UsageError(
      `${variable} is ${address}: the API key would be sent unencrypted, so it must be https ` +
        '(or, for a test provider, its host:port on PROVIDER_ALLOW)',
    );
  }
}

/**
 * Checks that PUBLIC_URL is https if the provider of new tasks fetches inputs from it and calls it
 * back. Warns instead if the provider or PUBLIC_URL is on PROVIDER_ALLOW, or if the provider is on
 * this machine (a simulator). Providers that only finish older tasks are not checked.
 * @throws UsageError that says what to set
 */
function checkPublicUrl(config: AddressConfig, log: Log): void {
  const providerUrl = fetchingProviderUrl(config);
  const { publicUrl, providerHosts, provider } = config;
  if (providerUrl === undefined || publicUrl?.startsWith('https:')) return;
  const isExcepted =
    isLoopback(providerUrl) ||
    providerHosts.allow.has(hostAndPort(providerUrl)) ||
    (publicUrl !== undefined && providerHosts.allow.has(hostAndPort(publicUrl)));
  if (!isExcepted) {
    throw new UsageError(
      `PUBLIC_URL is ${publicUrl ?? 'not set'}: PROVIDER=${provider} fetches inputs and calls ` +
        'back there, so it must be an https address such as https://video.example.com',
    );
  }
  log.warn({ publicUrl, provider }, 'PUBLIC_URL is not https: only a test provider can reach it');
}

/** The API URL of the provider of new tasks; undefined if it does not fetch from PUBLIC_URL. */
function fetchingProviderUrl(config: AddressConfig): string | undefined {
  const chosen = config.configuredProviders.find(({ name }) => name === config.provider);
  if (!chosen?.fetchesInputs) return undefined;
  const [jobsUrl] = Object.values(chosen.baseUrls);
  return jobsUrl;
}

function isLoopback(address: string): boolean {
  return /^(localhost|.+\.localhost|127\.[\d.]+|\[::1\])$/.test(new URL(address).hostname);
}

/** A URL's host and port, written as in PROVIDER_ALLOW. */
function hostAndPort(address: string): string {
  const { protocol, hostname, port } = new URL(address);
  return `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`;
}
