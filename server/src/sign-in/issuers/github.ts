import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Issuer, OutsideIdentity } from './issuer.ts';
import { callIssuer, type OauthClient, type OauthServer, oauthIssuer } from './oauth.ts';

export interface GithubSettings extends OauthClient {
  /** https://github.com, or a GitHub Enterprise server. */
  url: string;
}

const UserSchema = Type.Object({ id: Type.Integer() });
const EmailsSchema = Type.Array(
  Type.Object({ email: Type.String(), primary: Type.Boolean(), verified: Type.Boolean() }),
);

/** GitHub has OAuth 2 but not OpenID Connect: the identity is read from its API. */
export function githubIssuer(settings: GithubSettings): Issuer {
  const { url } = settings;
  const api = url === 'https://github.com' ? 'https://api.github.com' : `${url}/api/v3`;
  return oauthIssuer(settings, {
    identifier: url,
    open: () => openGithub(url),
    queryOf: () => ({ scope: 'user:email' }),
    async identityOf({ oauth, server }, response) {
      const client = { client_id: settings.clientId };
      // For a used or wrong code GitHub sends 200 with an `error` and no token.
      const token = await oauth.processAuthorizationCodeResponse(server, client, response);
      return identityOfToken(api, token.access_token);
    },
  });
}

async function openGithub(url: string): Promise<OauthServer> {
  const server = {
    // The `iss` that GitHub sends in its redirect (RFC 9207).
    issuer: `${url}/login/oauth`,
    authorization_endpoint: `${url}/login/oauth/authorize`,
    token_endpoint: `${url}/login/oauth/access_token`,
    token_endpoint_auth_methods_supported: ['client_secret_post'],
  };
  return { oauth: await import('oauth4webapi'), server };
}

async function identityOfToken(api: string, token: string): Promise<OutsideIdentity> {
  const headers = { authorization: `Bearer ${token}` };
  const read = async (path: string) => (await callIssuer(api + path, { headers })).json();
  const [user, emails]: unknown[] = await Promise.all([read('/user'), read('/user/emails')]);
  if (!Value.Check(UserSchema, user) || !Value.Check(EmailsSchema, emails)) {
    throw new Error('GitHub did not say who this is');
  }
  const primary = emails.find((email) => email.primary);
  return {
    subject: String(user.id),
    email: primary?.email,
    isEmailVerified: primary?.verified === true,
  };
}
