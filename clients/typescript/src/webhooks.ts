import { WebhookError } from './errors.ts';
import type { WebhookEvent } from './openapi.ts';

type WebhookHeaders = Headers | Record<string, string | string[] | undefined>;

/** How far a webhook's timestamp may be from now. */
const TOLERANCE_SECONDS = 300;

/**
 * Verifies a webhook's signature and returns its event. Events may arrive twice, with the same id.
 * @param rawBody the body as received, before parsing
 * @param secret the endpoint's, `whsec_...`
 * @throws WebhookError
 */
export async function verify(
  rawBody: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string,
): Promise<WebhookEvent & { id: string }> {
  const [id, time, signatures] = ['id', 'timestamp', 'signature'].map((name) =>
    headerOf(headers, `webhook-${name}`),
  );
  if (!id || !time || !signatures) throw new WebhookError('a webhook header is missing');
  if (!(Math.abs(Date.now() / 1000 - Number(time)) <= TOLERANCE_SECONDS)) {
    throw new WebhookError('the webhook is too old, or the clock is wrong');
  }
  const body = typeof rawBody === 'string' ? rawBody : new TextDecoder().decode(rawBody);
  const signed = new TextEncoder().encode(`${id}.${time}.${body}`);
  if (!(await isSigned(signed, signatures, secret))) {
    throw new WebhookError('the signature of the webhook is wrong');
  }
  return { id, ...JSON.parse(body) };
}

export interface SignOptions {
  id?: string | undefined;
  /** When it was sent, in Unix seconds. */
  timestamp?: number | undefined;
}

/**
 * The headers of a webhook with this body, as `verify` accepts them, for testing a receiver.
 * @param secret the endpoint's, `whsec_...`
 */
export async function sign(
  body: string,
  secret: string,
  options: SignOptions = {},
): Promise<Record<`webhook-${'id' | 'timestamp' | 'signature'}`, string>> {
  const { id = `evt_${crypto.randomUUID()}`, timestamp = Math.floor(Date.now() / 1000) } = options;
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  const signature = await crypto.subtle.sign('HMAC', await keyOf(secret), signed);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${btoa(String.fromCharCode(...new Uint8Array(signature)))}`,
  };
}

async function keyOf(secret: string): Promise<CryptoKey> {
  const bytes = bytesOf(secret.replace('whsec_', ''));
  if (!bytes) throw new WebhookError('the secret is not one of an endpoint');
  const hmac = { name: 'HMAC', hash: 'SHA-256' };
  return crypto.subtle.importKey('raw', bytes, hmac, false, ['sign', 'verify']);
}

function headerOf(headers: WebhookHeaders, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  return Object.entries(headers)
    .find(([key]) => key.toLowerCase() === name)?.[1]
    ?.toString();
}

async function isSigned(signed: Uint8Array<ArrayBuffer>, signatures: string, secret: string) {
  const key = await keyOf(secret);
  for (const one of signatures.split(' ')) {
    const [version, base64 = ''] = one.split(',');
    const signature = version === 'v1' && bytesOf(base64);
    if (signature && (await crypto.subtle.verify('HMAC', key, signature, signed))) return true;
  }
  return false;
}

function bytesOf(base64: string) {
  try {
    return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  } catch {
    return undefined;
  }
}
