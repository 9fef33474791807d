import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { jobIdIn } from '../kit/listed-jobs.ts';
import { forged, openApi, parseJson } from '../kit/remote.ts';
import { createSigningKeys, signedRecently } from '../kit/signing-keys.ts';
import type { Callback, Provider } from '../provider.ts';
import type { FalSettings } from './settings.ts';

const JwksSchema = Type.Object({
  keys: Type.Array(Type.Object({ kty: Type.String(), x: Type.Optional(Type.String()) })),
});

/** fal allows its keys to be cached for a day at most. */
const KEYS_MAX_AGE_SECONDS = 86_400;

type Delivery = Parameters<NonNullable<Provider['readCallback']>>[0];

/**
 * Reads fal's signed webhooks: Ed25519 over request id, user id, time and the SHA-256 of the body,
 * each on a line. fal sends one when a request is completed, and repeats it until it gets a
 * response.
 * Source: fal docs, webhooks, "Verification".
 */
export function createFalWebhookReader(settings: FalSettings) {
  const keys = createSigningKeys({
    fetchKeys: () => fetchFalKeys(settings),
    now: settings.now,
    maxAgeSeconds: KEYS_MAX_AGE_SECONDS,
  });
  return async (delivery: Delivery): Promise<Callback> => {
    const signed = signatureIn(delivery);
    if (!signed) return forged('a signature header is missing');
    if (!signedRecently(signed.timestamp, settings.now()))
      return forged('not signed within 5 minutes of now');
    if (settings.userId !== '' && signed.userId !== settings.userId)
      return forged('signed for another user');
    const signature = Buffer.from(signed.signature, 'hex');
    const isSigned = await keys.some((key) => verify(null, signed.text, key, signature));
    return isSigned ? newsIn(delivery.body) : forged('the signature is wrong');
  };
}

function signatureIn({ body, headers }: Delivery) {
  const requestId = headers['x-fal-webhook-request-id'];
  const userId = headers['x-fal-webhook-user-id'];
  const timestamp = headers['x-fal-webhook-timestamp'];
  const signature = headers['x-fal-webhook-signature'];
  if (!requestId || !userId || !timestamp || !signature) return undefined;
  const bodyHash = createHash('sha256').update(body).digest('hex');
  const text = Buffer.from([requestId, userId, timestamp, bodyHash].join('\n'));
  return { userId, timestamp, signature, text };
}

/**
 * `request_id` is the id in the queue; `gateway_request_id` may be the id of one of fal's
 * own retries.
 */
function newsIn(body: Uint8Array): Callback {
  return { kind: 'report', jobId: jobIdIn(parseJson(body), 'request_id'), verified: true };
}

async function fetchFalKeys(settings: FalSettings): Promise<KeyObject[]> {
  // Without the API key, and on no connection that stays open: the keys are read once a day.
  const api = openApi({ ...settings, readCall: settings.call });
  const response = await api.get(settings.jwksUrl);
  if (response.status !== 200 || !Value.Check(JwksSchema, response.body)) {
    throw new Error(`fal's webhook keys can't be read: HTTP ${response.status}`);
  }
  return response.body.keys
    .filter(({ kty }) => kty === 'OKP')
    .map(({ x }) =>
      createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: x ?? '' }, format: 'jwk' }),
    );
}
