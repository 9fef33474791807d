import { generateKeyPairSync, sign } from 'node:crypto';

const KEY_ID = 'simulated';

/** A key that signs ID tokens, and how others read it. */
export type SigningKey = ReturnType<typeof newSigningKey>;

export function newSigningKey() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: KEY_ID, alg: 'ES256', use: 'sig' };
  return { privateKey, jwks: { keys: [jwk] } };
}

/** A signed JSON Web Token. */
export function signToken({ privateKey }: SigningKey, claims: object): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${encode({ alg: 'ES256', kid: KEY_ID })}.${encode(claims)}`;
  const signature = sign('sha256', Buffer.from(text), {
    key: privateKey,
    dsaEncoding: 'ieee-p1363',
  });
  return `${text}.${signature.toString('base64url')}`;
}
