import type * as OAuth from 'oauth4webapi';
import { callOnce } from '../../outbound/call.ts';
import { IdentityRefused, type Issuer, type OutsideIdentity, type SignInStart } from './issuer.ts';

const TIMEOUT_SECONDS = 10;

/** A call to an issuer: like `fetch`, but bounded in time and size, and without redirects. */
export async function callIssuer(
  url: string,
  {
    method = 'GET',
    headers = {},
    body,
  }: { method?: string; headers?: Record<string, string>; body?: string | undefined } = {},
): Promise<Response> {
  const own = { 'user-agent': 'framewright', accept: 'application/json', ...headers };
  const outcome = await callOnce({
    url,
    method,
    body,
    timeoutSeconds: TIMEOUT_SECONDS,
    headers: {
      ...own,
      ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }),
    },
  });
  if (outcome.kind !== 'responded') {
    throw new Error(`${new URL(url).host} does not respond: ${outcome.cause}`);
  }
  const { status, headers: received } = outcome;
  const isEmpty = status === 204 || status === 304;
  return new Response(isEmpty ? null : new Uint8Array(outcome.body), {
    status,
    headers: received,
  });
}

export interface OauthClient {
  clientId: string;
  clientSecret: string;
}

export interface OauthServer {
  oauth: typeof OAuth;
  server: OAuth.AuthorizationServer;
}

/** Allows plain http if the issuer's URL has it: the configuration accepts that for loopback only. */
export function optionsOf(oauth: typeof OAuth, issuer: string) {
  return {
    [oauth.customFetch]: (url: string, sent: OAuth.CustomFetchOptions<string, unknown>) => {
      const { method, headers, body } = sent;
      return callIssuer(url, { method, headers, body: body?.toString() });
    },
    [oauth.allowInsecureRequests]: issuer.startsWith('http:'),
  };
}

interface OauthIssuer {
  identifier: string;
  /** Imports oauth4webapi at the first sign-in. */
  open(): Promise<OauthServer>;
  /** The scope, and what else the issuer wants in its authorization URL. */
  queryOf(start: SignInStart): Record<string, string>;
  /** Reads the identity from the token endpoint's response. */
  identityOf(opened: OauthServer, response: Response, nonce: string): Promise<OutsideIdentity>;
}

/** An issuer that signs people in by OAuth 2, with PKCE. */
export function oauthIssuer(
  client: OauthClient,
  { identifier, open, queryOf, identityOf }: OauthIssuer,
): Issuer {
  return {
    identifier,
    async authorizationUrl(start) {
      return authorizationUrlOf(await open(), client, start, queryOf(start));
    },
    async identify(parameters, start) {
      const opened = await open();
      try {
        const response = await exchangeCode(opened, client, parameters, start);
        return await identityOf(opened, response, start.nonce);
      } catch (cause) {
        throw refusalOf(opened.oauth, cause);
      }
    },
  };
}

async function authorizationUrlOf(
  { oauth, server }: OauthServer,
  { clientId }: OauthClient,
  { state, redirectUri, codeVerifier }: SignInStart,
  query: Record<string, string>,
): Promise<string> {
  const url = new URL(server.authorization_endpoint ?? '');
  const parameters = {
    client_id: clientId,
    redirect_uri: redirectUri,
    state,
    response_type: 'code',
    code_challenge: await oauth.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
    ...query,
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

/** @throws errors that {@link refusalOf} can read */
function exchangeCode(
  { oauth, server }: OauthServer,
  { clientId, clientSecret }: OauthClient,
  parameters: URLSearchParams,
  { state, redirectUri, codeVerifier }: SignInStart,
): Promise<Response> {
  const client = { client_id: clientId };
  const valid = oauth.validateAuthResponse(server, client, parameters, state);
  // In a header the secret is percent-encoded, which not every issuer decodes.
  const authenticate = server.token_endpoint_auth_methods_supported?.includes('client_secret_post')
    ? oauth.ClientSecretPost(clientSecret)
    : oauth.ClientSecretBasic(clientSecret);
  return oauth.authorizationCodeGrantRequest(
    server,
    client,
    authenticate,
    valid,
    redirectUri,
    codeVerifier,
    optionsOf(oauth, server.issuer),
  );
}

/** IdentityRefused if the issuer sent a refusal or an invalid response; otherwise the cause. */
function refusalOf(oauth: typeof OAuth, cause: unknown): unknown {
  if (cause instanceof oauth.AuthorizationResponseError) {
    const isDenied = cause.error === 'access_denied';
    return new IdentityRefused(cause.message, { isDenied, cause });
  }
  const isRefusal =
    cause instanceof oauth.ResponseBodyError || cause instanceof oauth.OperationProcessingError;
  return isRefusal ? new IdentityRefused(cause.message, { cause }) : cause;
}
