import { hash } from 'node:crypto';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { callProvider } from './call-provider.ts';
import {
  type IdentityProvider,
  IdentityRefused,
  type OutsideIdentity,
} from './identity-provider.ts';

export interface GithubSettings {
  /** https://github.com, or a GitHub Enterprise server. */
  url: string;
  clientId: string;
  clientSecret: string;
}

const TokenSchema = Type.Object({ access_token: Type.String() });
const UserSchema = Type.Object({ id: Type.Integer() });
const EmailsSchema = Type.Array(
  Type.Object({ email: Type.String(), primary: Type.Boolean(), verified: Type.Boolean() }),
);

/** GitHub speaks OAuth 2, but not OpenID Connect: who signs in is read by its API. */
export function githubProvider({ url, clientId, clientSecret }: GithubSettings): IdentityProvider {
  const api = url === 'https://github.com' ? 'https://api.github.com' : `${url}/api/v3`;
  return {
    issuer: url,
    async authorizationUrl({ state, redirectUri, codeVerifier }) {
      const query = new URLSearchParams({
        ...{ client_id: clientId, redirect_uri: redirectUri, state, scope: 'user:email' },
        code_challenge: hash('sha256', codeVerifier, 'base64url'),
        code_challenge_method: 'S256',
      });
      return `${url}/login/oauth/authorize?${query}`;
    },
    async identify(parameters, { state, redirectUri, codeVerifier }) {
      const code = codeOf(parameters, state);
      const response = await callProvider(`${url}/login/oauth/access_token`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({
          ...{ client_id: clientId, client_secret: clientSecret, code },
          ...{ redirect_uri: redirectUri, code_verifier: codeVerifier },
        }).toString(),
      });
      const token: unknown = await response.json();
      // A used or wrong code is a 200 with an `error`.
      if (!Value.Check(TokenSchema, token)) throw new IdentityRefused('GitHub gave no token', {});
      return whoHas(api, token.access_token);
    },
  };
}

/** @throws IdentityRefused */
function codeOf(parameters: URLSearchParams, state: string): string {
  if (parameters.get('state') !== state) throw new IdentityRefused('another state', {});
  const error = parameters.get('error');
  const code = parameters.get('code');
  if (error === null && code !== null) return code;
  const isDenied = error === 'access_denied';
  throw new IdentityRefused(`GitHub said ${error ?? 'nothing'}`, { isDenied });
}

async function whoHas(api: string, token: string): Promise<OutsideIdentity> {
  const headers = { authorization: `Bearer ${token}` };
  const read = async (path: string) => (await callProvider(api + path, { headers })).json();
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
