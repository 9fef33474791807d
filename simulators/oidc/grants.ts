import { hash, randomUUID } from 'node:crypto';

/** Somebody who has an account at the simulated issuer. */
interface SimulatedPerson {
  subject: string;
  email: string;
  isVerified: boolean;
}

/** What a code stands for. */
export interface Grant {
  person: SimulatedPerson;
  redirectUri: string;
  nonce: string | null;
  challenge: string | null;
}

/** The codes and access tokens that the simulated issuer has given. */
export type Grants = ReturnType<typeof createGrants>;

export function createGrants(clientSecret: string) {
  const grants = new Map<string, Grant>();
  const people = new Map<string, SimulatedPerson>();
  return {
    /**
     * Signs somebody in, or says no for them, as they would in a browser.
     * @param authorizationUrl where the service sent the browser
     * @returns where the browser is sent back to
     */
    decide(authorizationUrl: string, person: SimulatedPerson | 'deny') {
      const { origin, pathname, searchParams: asked } = new URL(authorizationUrl);
      const redirectUri = asked.get('redirect_uri') ?? '';
      const back = new URL(redirectUri);
      back.searchParams.set('state', asked.get('state') ?? '');
      back.searchParams.set('iss', origin + pathname.replace(/\/authorize$/, ''));
      if (person === 'deny') {
        back.searchParams.set('error', 'access_denied');
        return back.href;
      }
      const code = randomUUID();
      const challenge = asked.get('code_challenge');
      grants.set(code, { person, redirectUri, nonce: asked.get('nonce'), challenge });
      back.searchParams.set('code', code);
      return back.href;
    },
    /**
     * The grant of a code, which is used up.
     * @returns undefined unless secret, redirect address and PKCE verifier fit
     */
    redeem(form: URLSearchParams, authorization = '') {
      const code = form.get('code') ?? '';
      const grant = grants.get(code);
      grants.delete(code);
      const secret = secretIn(authorization) ?? form.get('client_secret');
      const proved = hash('sha256', form.get('code_verifier') ?? '', 'base64url');
      const fits =
        secret === clientSecret &&
        grant?.redirectUri === form.get('redirect_uri') &&
        grant?.challenge === proved;
      return fits ? grant : undefined;
    },
    accessToken(person: SimulatedPerson) {
      const token = randomUUID();
      people.set(token, person);
      return token;
    },
    personOf: (authorization: string | undefined = '') =>
      people.get(/^Bearer (.+)$/i.exec(authorization)?.[1] ?? ''),
  };
}

function secretIn(authorization: string): string | undefined {
  const [, basic = ''] = /^Basic (.+)$/.exec(authorization) ?? [];
  const secret = Buffer.from(basic, 'base64').toString().split(':')[1];
  return secret && decodeURIComponent(secret);
}
