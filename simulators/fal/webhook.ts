import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto';
import type { Delivery } from '../kit/callbacks.ts';

/** The fal user id in the signatures. */
export const USER_ID = 'simulated-user';

/** An Ed25519 private key is this prefix and 32 bytes. These keys are public test data. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const OWN_KEY = keyOf('fal simulator');
const FORGER_KEY = keyOf('forger');

function keyOf(name: string) {
  const seed = createHash('sha256').update(name).digest();
  return createPrivateKey({
    key: Buffer.concat([PKCS8_PREFIX, seed]),
    format: 'der',
    type: 'pkcs8',
  });
}

/** The JSON Web Key Set: an old public key and the one in use. */
export function jwks(): unknown {
  const keys = [keyOf('an older key'), OWN_KEY].map((key, index) => {
    return { ...createPublicKey(key).export({ format: 'jwk' }), kid: `key-${index}`, use: 'sig' };
  });
  return { keys };
}

/** A webhook with fal's signature; `signedAt` in milliseconds since 1970. */
export function signedDelivery(
  json: { request_id: string; [field: string]: unknown },
  options: { signedAt?: number; forged?: boolean } = {},
): Delivery {
  const body = JSON.stringify(json);
  const timestamp = String(Math.floor((options.signedAt ?? Date.now()) / 1000));
  const bodyHash = createHash('sha256').update(body).digest('hex');
  const text = Buffer.from([json.request_id, USER_ID, timestamp, bodyHash].join('\n'));
  const signature = sign(null, text, options.forged ? FORGER_KEY : OWN_KEY).toString('hex');
  return {
    body,
    headers: {
      'x-fal-webhook-request-id': json.request_id,
      'x-fal-webhook-user-id': USER_ID,
      'x-fal-webhook-timestamp': timestamp,
      'x-fal-webhook-signature': signature,
    },
  };
}
