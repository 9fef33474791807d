import { createHmac, timingSafeEqual } from 'node:crypto';
import { jobIdIn } from '../kit/job-id.ts';
import { forged, parseJson } from '../kit/remote.ts';
import { createCallbackReader, type SignedCallback } from '../kit/signing-keys.ts';
import type { Callback } from '../provider.ts';
import type { OpenRouterSettings } from './settings.ts';

/** Where an event has the job's id. */
const EVENT = { within: 'data', idField: 'id' };

/**
 * Reads OpenRouter's webhooks: one for each job, when it has ended. With the workspace's secret
 * they are signed: HMAC-SHA256 over time and raw body.
 * Source: OpenRouter docs, video generation, webhooks.
 */
export function createOpenRouterWebhookReader(
  { webhookSecret }: OpenRouterSettings,
  now: () => number,
) {
  if (webhookSecret === undefined) return readUnsigned;
  return createCallbackReader({
    fetchKeys: async () => [webhookSecret],
    now,
    signatureIn,
    ...EVENT,
  });
}

/** Anyone who knows the attempt's path can send one, so it is only a hint which job to read. */
async function readUnsigned({ body }: SignedCallback): Promise<Callback> {
  const event = parseJson(body);
  if (typeof event !== 'object' || event === null) return forged('not a JSON object');
  const jobId = jobIdIn(Object(event)[EVENT.within], EVENT.idField);
  return { kind: 'report', jobId, verified: false };
}

/** `t=SECONDS,v1=HEX` */
function signatureIn({ body, headers }: SignedCallback) {
  const parts = (headers['x-openrouter-signature'] ?? '').split(',').map((part) => part.trim());
  const partOf = (name: string) =>
    parts.find((part) => part.startsWith(`${name}=`))?.slice(name.length + 1);
  const timestamp = partOf('t');
  const signature = partOf('v1');
  if (!timestamp || !signature) return 'the signature header is missing or incomplete';
  const text = Buffer.concat([Buffer.from(`${timestamp},`), body]);
  const given = Buffer.from(signature, 'hex');
  return {
    timestamp,
    isBy(secret: string) {
      const expected = createHmac('sha256', secret).update(text).digest();
      return given.length === expected.length && timingSafeEqual(given, expected);
    },
  };
}
