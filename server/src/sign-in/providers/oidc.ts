import type * as OAuth from 'oauth4webapi';
import { callProvider } from './call-provider.ts';
import {
  type IdentityProvider,
  IdentityRefused,
  type OutsideIdentity,
  type SignInStart,
} from './identity-provider.ts';

export interface OidcSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
}

/** How long the discovered addresses of an issuer are used. */
const DISCOVERY_MS = 3_600_000;

interface Discovered {
  oauth: typeof OAuth;
  server: OAuth.AuthorizationServer;
}

/** An OpenID Connect issuer. Its addresses are discovered at the first sign-in. */
export function oidcProvider(settings: OidcSettings): IdentityProvider {
  const discover = discovery(settings.issuer);
  return {
    issuer: settings.issuer,
    async authorizationUrl({ state, nonce, redirectUri, codeVerifier }) {
      const { oauth, server } = await discover();
      const url = new URL(server.authorization_endpoint ?? '');
      const query = {
        ...{ client_id: settings.clientId, redirect_uri: redirectUri, state, nonce },
        ...{ response_type: 'code', scope: 'openid email' },
        code_challenge: await oauth.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
      };
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
      return url.href;
    },
    async identify(parameters, start) {
      const discovered = await discover();
      try {
        return await exchange(settings, discovered, parameters, start);
      } catch (cause) {
        throw refusalOf(discovered, cause);
      }
    },
  };
}

function discovery(issuer: string): () => Promise<Discovered> {
  let known: { found: Promise<Discovered>; at: number } | undefined;
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

/** oauth4webapi is imported at the first sign-in. */
async function discoverNow(issuer: string): Promise<Discovered> {
  const oauth = await import('oauth4webapi');
  const url = new URL(issuer);
  const response = await oauth.discoveryRequest(url, optionsOf(oauth, issuer));
  return { oauth, server: await oauth.processDiscoveryResponse(url, response) };
}

/** Plain http is for an issuer on this machine; the configuration allows no other. */
function optionsOf(oauth: typeof OAuth, issuer: string) {
  return {
    [oauth.customFetch]: (url: string, sent: OAuth.CustomFetchOptions<string, unknown>) => {
      const { method, headers, body } = sent;
      return callProvider(url, { method, headers, body: body?.toString() });
    },
    [oauth.allowInsecureRequests]: issuer.startsWith('http:'),
  };
}

async function exchange(
  { issuer, clientId, clientSecret }: OidcSettings,
  { oauth, server }: Discovered,
  parameters: URLSearchParams,
  { state, nonce, redirectUri, codeVerifier }: SignInStart,
): Promise<OutsideIdentity> {
  const client = { client_id: clientId };
  const options = optionsOf(oauth, issuer);
  const valid = oauth.validateAuthResponse(server, client, parameters, state);
  // In a header the secret is percent-encoded, which not every issuer undoes.
  const authenticate = server.token_endpoint_auth_methods_supported?.includes('client_secret_post')
    ? oauth.ClientSecretPost(clientSecret)
    : oauth.ClientSecretBasic(clientSecret);
  const response = await oauth.authorizationCodeGrantRequest(
    ...([server, client, authenticate, valid, redirectUri, codeVerifier, options] as const),
  );
  const token = await oauth.processAuthorizationCodeResponse(server, client, response, {
    ...{ expectedNonce: nonce, requireIdToken: true },
  });
  await oauth.validateApplicationLevelSignature(server, response, options);
  const claims = oauth.getValidatedIdTokenClaims(token);
  if (!claims) throw new Error('the issuer gave no claims');
  if (claims.email !== undefined || !server.userinfo_endpoint) return identityOf(claims);
  const info = await oauth.userInfoRequest(server, client, token.access_token, options);
  return identityOf(await oauth.processUserInfoResponse(server, client, claims.sub, info));
}

function identityOf({
  sub,
  email,
  email_verified: verified,
}: {
  sub: string;
  email?: unknown;
  email_verified?: unknown;
}): OutsideIdentity {
  return {
    subject: sub,
    email: typeof email === 'string' ? email : undefined,
    isEmailVerified: verified === true || verified === 'true', // some issuers send text
  };
}

/** Tells a response that must not be trusted from an issuer that does not respond. */
function refusalOf({ oauth }: Discovered, cause: unknown): unknown {
  if (cause instanceof oauth.AuthorizationResponseError) {
    const isDenied = cause.error === 'access_denied';
    return new IdentityRefused(cause.message, { isDenied, cause });
  }
  const isRefusal =
    cause instanceof oauth.ResponseBodyError || cause instanceof oauth.OperationProcessingError;
  return isRefusal ? new IdentityRefused(cause.message, { cause }) : cause;
}
