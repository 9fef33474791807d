import { createHmac, timingSafeEqual } from 'node:crypto';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { createCallbackReader, type SignedCallback } from '../kit/signing-keys.ts';
import type { Replicate } from './settings.ts';

const SecretSchema = Type.Object({ key: Type.String({ pattern: '^whsec_.+' }) });

/**
 * Reads Replicate's signed webhooks (Standard Webhooks): HMAC-SHA256 over id, time and raw body.
 * Source: Replicate docs, verify webhooks.
 */
export function createReplicateWebhookReader(account: Replicate, now: () => number) {
  return createCallbackReader({
    fetchKeys: async () => [await secretOf(account)],
    now,
    signatureIn,
    idField: 'id',
  });
}

function signatureIn({ body, headers }: SignedCallback) {
  const id = headers['webhook-id'];
  const timestamp = headers['webhook-timestamp'];
  const signatures = headers['webhook-signature'];
  if (!id || !timestamp || !signatures) return 'a signature header is missing';
  const text = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  return {
    timestamp,
    isBy: (secret: Buffer) => isAmong(signatures, signatureOf(text, secret)),
  };
}

async function secretOf(account: Replicate): Promise<Buffer> {
  const secret = account.webhookSecret ?? (await fetchSecret(account));
  return Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
}

async function fetchSecret(account: Replicate): Promise<string> {
  const response = await account.api.get(`${account.baseUrl}/v1/webhooks/default/secret`);
  if (response.status === 200 && Value.Check(SecretSchema, response.body)) return response.body.key;
  throw new Error(`the secret of the webhooks can't be read: HTTP ${response.status}`);
}

function signatureOf(text: Buffer, secret: Buffer): Buffer {
  return createHmac('sha256', secret).update(text).digest();
}

/** While a secret is being renewed, a delivery has several signatures, each `v1,BASE64`. */
function isAmong(signatures: string, expected: Buffer): boolean {
  return signatures.split(' ').some((entry) => {
    const [version, text = ''] = entry.split(',');
    const signature = Buffer.from(text, 'base64');
    const isComparable = version === 'v1' && signature.length === expected.length;
    return isComparable && timingSafeEqual(signature, expected);
  });
}
