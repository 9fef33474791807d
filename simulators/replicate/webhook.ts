import { createHmac } from 'node:crypto';
import type { Delivery } from '../kit/callbacks.ts';

const SECRET = Buffer.from('the simulator signs with this');
const FORGED_SECRET = Buffer.from('somebody else signs with this');

/** What Replicate tells an account's owner. */
export function secretKey(): string {
  return `whsec_${SECRET.toString('base64')}`;
}

/** A webhook, signed as Replicate does it; `signedAt` in milliseconds since 1970. */
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
