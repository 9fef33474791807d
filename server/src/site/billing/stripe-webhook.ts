import type { FastifyInstance } from 'fastify';
import type Stripe from 'stripe';
import type { Billing } from '../../billing/stripe-client.ts';
import { recordStripeEvent } from '../../billing/sweep.ts';
import { type ApiError, invalidRequest } from '../../kernel/errors.ts';
import { acceptBytes } from '../../requests/bodies.ts';

/** The oldest signature accepted, so that a captured event can't be replayed later. */
const MAX_AGE_SECONDS = 300;

export type StripeWebhookDeps = Pick<Billing, 'db' | 'log' | 'stripe' | 'scope' | 'webhookSecret'>;

/**
 * POST /webhooks/stripe: records Stripe's events. Responds 200 once an event is stored and the
 * order or subscription that it is about is due for a sweep; 400 if Stripe has not signed it in the
 * last five minutes, or if its mode is wrong: STRIPE_WEBHOOK_SECRET then belongs to another
 * endpoint. Needs its own scope: it takes no cookie, and requests from any origin.
 */
export async function stripeWebhook(
  scope: FastifyInstance,
  deps: StripeWebhookDeps,
): Promise<void> {
  const warnOfVersion = openVersionWatch(deps);
  acceptBytes(scope, 'event');
  scope.post(
    '/webhooks/stripe',
    {
      // Checked before the body is read: unsigned requests cost next to nothing.
      onRequest: async ({ headers }) => requireFresh(headers['stripe-signature']),
    },
    async ({ body, headers }) => {
      const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0);
      const event = verifyEvent(deps, bytes, String(headers['stripe-signature']));
      requireOwnMode(deps, event);
      warnOfVersion(event);
      await recordStripeEvent(deps.db, event);
      return { received: true };
    },
  );
}

/**
 * Returns a function that warns, once per process and version, if an event has another API version
 * than this program: it may have other fields.
 */
function openVersionWatch({ log, stripe }: StripeWebhookDeps) {
  const expected = String(stripe.getApiField('version'));
  const told = new Set([expected]);
  return ({ api_version: version }: Stripe.Event): void => {
    if (!version || told.has(version)) return;
    told.add(version);
    log.warn({ version, expected }, 'the webhook endpoint at Stripe has another API version');
  };
}

function requireOwnMode({ log, scope }: StripeWebhookDeps, { livemode }: Stripe.Event): void {
  const mode = livemode ? 'live' : 'test';
  if (mode === scope.mode) return;
  log.error({ mode, key: scope.mode }, 'a Stripe event has another mode than the API key');
  throw invalidRequest(`This service does not take events of ${mode} mode.`, { field: 'livemode' });
}

function requireFresh(header: string | string[] | undefined): void {
  const [, time] = /^t=(\d{1,12}),v\d=[0-9a-f]{64}/.exec(String(header)) ?? [];
  const age = Math.abs(Date.now() / 1000 - Number(time));
  if (!(age <= MAX_AGE_SECONDS)) throw unverified(); // NaN without a time
}

function verifyEvent(
  { stripe, webhookSecret }: StripeWebhookDeps,
  bytes: Buffer,
  signature: string,
) {
  try {
    return stripe.webhooks.constructEvent(bytes, signature, webhookSecret, MAX_AGE_SECONDS);
  } catch (cause) {
    throw unverified(cause);
  }
}

function unverified(cause?: unknown): ApiError {
  const message = 'The event could not be verified.';
  return invalidRequest(message, { field: 'stripe-signature' }, cause);
}
