import { createHmac, randomBytes } from 'node:crypto';

const PREFIX = 'whsec_';

/** A new secret of an endpoint: 32 random bytes (Standard Webhooks, "Signature scheme"). */
export function newWebhookSecret(): string {
  return PREFIX + randomBytes(32).toString('base64');
}

export interface SignedMessage {
  eventId: string;
  /** Seconds since 1970. */
  timestamp: number;
  body: string;
}

/** By Standard Webhooks. Each of the endpoint's secrets adds a signature, after a space. */
export function signatureHeaders(message: SignedMessage, secrets: string[]) {
  const { eventId, timestamp } = message;
  return {
    'webhook-id': eventId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': secrets.map((secret) => signatureOf(message, secret)).join(' '),
  };
}

function signatureOf({ eventId, timestamp, body }: SignedMessage, secret: string): string {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
  const signed = `${eventId}.${timestamp}.${body}`;
  return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
}
