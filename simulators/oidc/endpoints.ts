import { generateKeyPairSync, sign } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import type { Grant, Grants } from './grants.ts';

/** What is wrong with the responses. `userinfo`: nothing; the e-mail address is only there. */
export type OidcFault = 'none' | 'down' | 'nonce' | 'signature' | 'audience' | 'userinfo';

/** A response with another status than 200. */
export class Refusal {
  readonly status: number;
  readonly body: object;
  constructor(status: number, body: object = {}) {
    this.status = status;
    this.body = body;
  }
}

/** Responds to a request with JSON. */
type Endpoint = (request: IncomingMessage) => Promise<object> | object;

/** OpenID Connect, by path. */
export function oidcEndpoints(
  grants: Grants,
  { url, clientId, faultNow }: { url: string; clientId: string; faultNow(): OidcFault },
): Record<string, Endpoint> {
  const key = newSigningKey();
  const otherKey = newSigningKey();
  const idToken = ({ person, nonce }: Grant) => {
    const fault = faultNow();
    const now = Math.floor(Date.now() / 1000);
    return signToken(fault === 'signature' ? otherKey : key, {
      iss: url,
      sub: person.subject,
      iat: now,
      exp: now + 60,
      aud: fault === 'audience' ? 'another' : clientId,
      nonce: fault === 'nonce' ? 'another' : nonce,
      ...(fault !== 'userinfo' && { email: person.email, email_verified: person.isVerified }),
    });
  };
  return {
    '/.well-known/openid-configuration': () => ({
      issuer: url,
      authorization_endpoint: `${url}/authorize`,
      jwks_uri: `${url}/jwks`,
      token_endpoint: `${url}/token`,
      userinfo_endpoint: `${url}/userinfo`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
      code_challenge_methods_supported: ['S256'],
    }),
    '/jwks': () => key.jwks,
    '/token': async (request) => {
      const form = new URLSearchParams(await readText(request));
      const grant = grants.redeem(form, request.headers.authorization);
      if (!grant) return new Refusal(400, { error: 'invalid_grant' });
      const token = { access_token: grants.accessToken(grant.person), token_type: 'Bearer' };
      return { ...token, expires_in: 60, id_token: idToken(grant) };
    },
    '/userinfo': ({ headers }) => {
      const person = grants.personOf(headers.authorization);
      if (!person) return new Refusal(401);
      return { sub: person.subject, email: person.email, email_verified: person.isVerified };
    },
  };
}

/** As much of GitHub's OAuth and API as a sign-in needs, by path. */
export function githubEndpoints(grants: Grants): Record<string, Endpoint> {
  return {
    '/login/oauth/access_token': async (request) => {
      const grant = grants.redeem(new URLSearchParams(await readText(request)));
      if (!grant) return { error: 'bad_verification_code' };
      const token = grants.accessToken(grant.person);
      return { access_token: token, token_type: 'bearer', scope: 'user:email' };
    },
    '/api/v3/user': ({ headers }) => {
      const person = grants.personOf(headers.authorization);
      return person ? { id: Number(person.subject), login: 'simulated' } : new Refusal(401);
    },
    '/api/v3/user/emails': ({ headers }) => {
      const person = grants.personOf(headers.authorization);
      if (!person) return new Refusal(401);
      return [
        { email: 'old@example.org', primary: false, verified: true },
        { email: person.email, primary: true, verified: person.isVerified },
      ];
    },
  };
}

const KEY_ID = 'simulated';

/** A key that signs ID tokens, and how others read it. */
function newSigningKey() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: KEY_ID, alg: 'ES256', use: 'sig' };
  return { privateKey, jwks: { keys: [jwk] } };
}

/** A signed JSON Web Token. */
function signToken({ privateKey }: ReturnType<typeof newSigningKey>, claims: object): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${encode({ alg: 'ES256', kid: KEY_ID })}.${encode(claims)}`;
  const signature = sign('sha256', Buffer.from(text), {
    key: privateKey,
    dsaEncoding: 'ieee-p1363',
  });
  return `${text}.${signature.toString('base64url')}`;
}
