import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { callOnce } from '../../outbound/call.ts';
import { type JsonResponse, openApi, type RemoteDeps } from '../kit/remote.ts';
import { createCallbackReader, type SignedCallback } from '../kit/signing-keys.ts';
import type { Fal } from './settings.ts';

const JwksSchema = Type.Object({
  keys: Type.Array(Type.Object({ kty: Type.String(), x: Type.Optional(Type.String()) })),
});

/**
 * Reads fal's signed webhooks: Ed25519 over request id, user id, time and the SHA-256 of the body,
 * each on a line. fal sends one when a request is completed, and repeats it until it gets a
 * response.
 * Source: fal docs, webhooks, "Verification".
 */
export function createFalWebhookReader(account: Fal, deps: RemoteDeps) {
  // Sends no API key: the JWKS is public. Keeps no connection open: it is read about once a day.
  const api = openApi(deps, { readCall: callOnce });
  return createCallbackReader({
    fetchKeys: async () => keysIn(await api.get(account.jwksUrl)),
    now: account.now,
    signatureIn: (delivery) => signatureIn(delivery, account),
    // The id in the queue; `gateway_request_id` may be the id of one of fal's own retries.
    idField: 'request_id',
  });
}

function signatureIn({ body, headers }: SignedCallback, { userId }: Fal) {
  const requestId = headers['x-fal-webhook-request-id'];
  const signedFor = headers['x-fal-webhook-user-id'];
  const timestamp = headers['x-fal-webhook-timestamp'];
  const signature = headers['x-fal-webhook-signature'];
  if (!requestId || !signedFor || !timestamp || !signature) return 'a signature header is missing';
  if (userId !== undefined && signedFor !== userId) return 'signed for another user';
  const bodyHash = createHash('sha256').update(body).digest('hex');
  const text = Buffer.from([requestId, signedFor, timestamp, bodyHash].join('\n'));
  const bytes = Buffer.from(signature, 'hex');
  return { timestamp, isBy: (key: KeyObject) => verify(null, text, key, bytes) };
}

function keysIn(response: JsonResponse): KeyObject[] {
  if (response.status !== 200 || !Value.Check(JwksSchema, response.body)) {
    throw new Error(`fal's webhook keys can't be read: HTTP ${response.status}`);
  }
  return response.body.keys
    .filter(({ kty }) => kty === 'OKP')
    .map(({ x }) =>
      createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: x ?? '' }, format: 'jwk' }),
    );
}
