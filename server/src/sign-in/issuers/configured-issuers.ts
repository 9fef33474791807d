import { type GithubSettings, githubIssuer } from './github.ts';
import type { Issuer, IssuerName } from './issuer.ts';
import { type OidcSettings, oidcIssuer } from './oidc.ts';

/** undefined: not configured. */
export interface IssuerSettings {
  github: GithubSettings | undefined;
  /** Google uses OpenID Connect. */
  google: OidcSettings | undefined;
  /** Any other OpenID Connect issuer. */
  oidc: OidcSettings | undefined;
}

export function createIssuers(settings: IssuerSettings): ReadonlyMap<IssuerName, Issuer> {
  const { github, google, oidc } = settings;
  const issuers = new Map<IssuerName, Issuer>();
  if (github) issuers.set('github', githubIssuer(github));
  if (google) issuers.set('google', oidcIssuer(google));
  if (oidc) issuers.set('oidc', oidcIssuer(oidc));
  return issuers;
}
