import { type GithubSettings, githubProvider } from './github.ts';
import type { IdentityProvider, ProviderName } from './identity-provider.ts';
import { type OidcSettings, oidcProvider } from './oidc.ts';

/** The providers that the operator has configured; undefined: not this one. */
export interface IdentityProviderSettings {
  github: GithubSettings | undefined;
  /** Google speaks OpenID Connect. */
  google: OidcSettings | undefined;
  /** Any other issuer. */
  oidc: OidcSettings | undefined;
}

export function createIdentityProviders({
  github,
  google,
  oidc,
}: IdentityProviderSettings): ReadonlyMap<ProviderName, IdentityProvider> {
  const providers = new Map<ProviderName, IdentityProvider>();
  if (github) providers.set('github', githubProvider(github));
  if (google) providers.set('google', oidcProvider(google));
  if (oidc) providers.set('oidc', oidcProvider(oidc));
  return providers;
}
