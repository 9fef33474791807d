import type { Issuer, OutsideIdentity } from './issuer.ts';
import { type OauthClient, type OauthServer, oauthIssuer, optionsOf } from './oauth.ts';

export interface OidcSettings extends OauthClient {
  issuer: string;
}

const DISCOVERY_MS = 3_600_000;

/** An OpenID Connect issuer. Discovery runs with the first sign-in. */
export function oidcIssuer(settings: OidcSettings): Issuer {
  return oauthIssuer(settings, {
    identifier: settings.issuer,
    open: cachedDiscovery(settings.issuer),
    queryOf: ({ nonce }) => ({ scope: 'openid email', nonce }),
    identityOf: (...found) => readIdentity(settings, ...found),
  });
}

function cachedDiscovery(issuer: string): () => Promise<OauthServer> {
  let known: { found: Promise<OauthServer>; at: number } | undefined;
  return () => {
    if (known && performance.now() - known.at < DISCOVERY_MS) return known.found;
    const found = discoverNow(issuer);
    known = { found, at: performance.now() };
    found.catch(() => {
      if (known?.found === found) known = undefined;
    });
    return found;
  };
}

async function discoverNow(issuer: string): Promise<OauthServer> {
  const oauth = await import('oauth4webapi');
  const url = new URL(issuer);
  const response = await oauth.discoveryRequest(url, optionsOf(oauth, issuer));
  return { oauth, server: await oauth.processDiscoveryResponse(url, response) };
}

async function readIdentity(
  { clientId, issuer }: OidcSettings,
  { oauth, server }: OauthServer,
  response: Response,
  nonce: string,
): Promise<OutsideIdentity> {
  const client = { client_id: clientId };
  const options = optionsOf(oauth, issuer);
  const token = await oauth.processAuthorizationCodeResponse(server, client, response, {
    expectedNonce: nonce,
    requireIdToken: true,
  });
  await oauth.validateApplicationLevelSignature(server, response, options);
  const claims = oauth.getValidatedIdTokenClaims(token);
  if (!claims) throw new Error('the issuer gave no claims');
  if (claims.email !== undefined || !server.userinfo_endpoint) return identityOf(claims);
  const info = await oauth.userInfoRequest(server, client, token.access_token, options);
  return identityOf(await oauth.processUserInfoResponse(server, client, claims.sub, info));
}

function identityOf(claims: { sub: string; email?: unknown; email_verified?: unknown }) {
  const { sub: subject, email, email_verified: verified } = claims;
  const isEmailVerified = verified === true || verified === 'true'; // some issuers send strings
  return { subject, email: typeof email === 'string' ? email : undefined, isEmailVerified };
}
