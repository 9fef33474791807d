import { createHmac } from 'node:crypto';
import type { Delivery } from '../kit/callbacks.ts';

/** The signing secret of the simulated workspace. */
export const SIGNING_SECRET = 'the simulator signs with this';
const FORGED_SECRET = 'a forger signs with this';

/**
 * The webhook of a job that has ended, with OpenRouter's signature; `signedAt` in milliseconds
 * since 1970.
 */
export function signedDelivery(
  job: { id: string; status: string },
  options: { signedAt?: number; forged?: boolean } = {},
): Delivery {
  const signedAt = options.signedAt ?? Date.now();
  const created_at = new Date(signedAt).toISOString();
  const body = JSON.stringify({ type: `video.generation.${job.status}`, created_at, data: job });
  const timestamp = String(Math.floor(signedAt / 1000));
  const secret = options.forged ? FORGED_SECRET : SIGNING_SECRET;
  const signature = createHmac('sha256', secret).update(`${timestamp},${body}`).digest('hex');
  return {
    body,
    headers: {
      'x-openrouter-signature': `t=${timestamp},v1=${signature}`,
      'x-openrouter-idempotency-key': `${job.id}-${job.status}`,
    },
  };
}
