import { createHmac } from 'node:crypto';
import type { Delivery } from '../kit/callbacks.ts';

const SECRET = Buffer.from('the simulator signs with this');
const FORGED_SECRET = Buffer.from('a forger signs with this');

/** The signing secret that Replicate shows to the owner of an account. */
export function secretKey(): string {
  return `whsec_${SECRET.toString('base64')}`;
}

/** A webhook with Replicate's signature; `signedAt` in milliseconds since 1970. */
export function signedDelivery(
  id: string,
  json: unknown,
  options: { signedAt?: number; forged?: boolean } = {},
): Delivery {
  const body = JSON.stringify(json);
  const timestamp = String(Math.floor((options.signedAt ?? Date.now()) / 1000));
  const secret = options.forged ? FORGED_SECRET : SECRET;
  const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`);
  return {
    body,
    headers: {
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${signature.digest('base64')}`,
    },
  };
}
