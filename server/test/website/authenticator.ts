import assert from 'node:assert/strict';
import { generateKeyPairSync, hash, randomBytes, sign } from 'node:crypto';
import { ORIGIN, type TestVisitor } from './website.ts';

/** A passkey in software, which responds as a browser's `navigator.credentials` does. */
export interface TestAuthenticator {
  id: string;
  /** Makes the passkey. */
  register(challenge: string): object;
  /** Signs a challenge; the counter goes up each time, unless one is given. */
  signIn(challenge: string, counter?: number): { id: string };
}

/**
 * @param origin of the page that asks; the passkey is bound to its host
 * @param options.idBytes the length of its id
 */
export function createAuthenticator(origin: string, { idBytes = 16 } = {}): TestAuthenticator {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const rawId = randomBytes(idBytes);
  const id = rawId.toString('base64url');
  const host = hash('sha256', new URL(origin).hostname, 'buffer');
  let used = 0;

  const clientData = (type: string, challenge: string) =>
    Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
  const credential = (response: object) => ({
    id,
    rawId: id,
    type: 'public-key',
    clientExtensionResults: {},
    response,
  });
  return {
    id,
    register(challenge) {
      const coordinates = [x, y].map((text) => bytes(Buffer.from(text, 'base64url')));
      // COSE: an EC2 key (1: 2) for ES256 (3: -7) on P-256 (-1: 1) with x (-2) and y (-3).
      const key = Buffer.concat([
        Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21]),
        coordinates[0] ?? Buffer.of(),
        Buffer.of(0x22),
        coordinates[1] ?? Buffer.of(),
      ]);
      const length = Buffer.of(rawId.length >> 8, rawId.length & 255);
      const attested = Buffer.concat([Buffer.alloc(16), length, rawId, key]);
      const authData = Buffer.concat([host, Buffer.of(USER | ATTESTED), Buffer.alloc(4), attested]);
      const attestation = Buffer.concat([
        Buffer.of(0xa3),
        text('fmt'),
        text('none'),
        text('attStmt'),
        Buffer.of(0xa0),
        text('authData'),
        bytes(authData),
      ]);
      return credential({
        clientDataJSON: clientData('webauthn.create', challenge).toString('base64url'),
        attestationObject: attestation.toString('base64url'),
        transports: ['internal'],
      });
    },
    signIn(challenge, counter) {
      used += 1;
      const count = Buffer.alloc(4);
      count.writeUInt32BE(counter ?? used);
      const authData = Buffer.concat([host, Buffer.of(USER), count]);
      const data = clientData('webauthn.get', challenge);
      const signed = Buffer.concat([authData, hash('sha256', data, 'buffer')]);
      return credential({
        clientDataJSON: data.toString('base64url'),
        authenticatorData: authData.toString('base64url'),
        signature: sign('sha256', signed, privateKey).toString('base64url'),
      });
    },
  };
}

/** Adds a passkey to the account of a visitor. */
export async function addPasskey(visitor: TestVisitor): Promise<TestAuthenticator> {
  const authenticator = createAuthenticator(ORIGIN);
  const { body } = await visitor.write('/auth/passkeys/options');
  const response = authenticator.register(body.challenge);
  const added = await visitor.write('/auth/passkeys', { name: 'Laptop', response });
  assert.equal(added.status, 200, JSON.stringify(added.body));
  return authenticator;
}

/** Flags: the user is present and verified; a new key is attached. */
const USER = 0x05;
const ATTESTED = 0x40;

/** CBOR of a text of at most 23 bytes. */
function text(value: string): Buffer {
  return Buffer.concat([Buffer.of(0x60 + value.length), Buffer.from(value)]);
}

/** CBOR of at most 65535 bytes. */
function bytes(value: Buffer): Buffer {
  const { length } = value;
  const head = length < 256 ? Buffer.of(0x58, length) : Buffer.of(0x59, length >> 8, length & 255);
  return Buffer.concat([head, value]);
}
