import type { StripeSettings } from '../billing/stripe-client.ts';
import { UsageError } from '../kernel/errors.ts';
import { type Environment, secret, webAddress } from '../kernel/variables.ts';

/** @returns undefined if nothing is on sale */
export function readBilling(env: Environment): StripeSettings | undefined {
  const secretKey = secret(env, 'STRIPE_SECRET_KEY');
  const webhookSecret = secret(env, 'STRIPE_WEBHOOK_SECRET');
  const baseUrl = webAddress(env, 'STRIPE_BASE_URL');
  if (secretKey === undefined) {
    if (webhookSecret === undefined && baseUrl === undefined) return undefined;
    const set = webhookSecret === undefined ? 'STRIPE_BASE_URL' : 'STRIPE_WEBHOOK_SECRET';
    throw new UsageError(`${set} is set, but STRIPE_SECRET_KEY is not`);
  }
  if (!/^(sk|rk)_(test|live)_\w+$/.test(secretKey)) {
    throw new UsageError(
      'STRIPE_SECRET_KEY is not valid: expected a key that begins with sk_live_, rk_live_, ' +
        'sk_test_ or rk_test_',
    );
  }
  if (webhookSecret === undefined) {
    throw new UsageError(
      'STRIPE_SECRET_KEY is set, but STRIPE_WEBHOOK_SECRET is not: Stripe shows it beside the ' +
        'endpoint /webhooks/stripe',
    );
  }
  return { secretKey, webhookSecret, baseUrl };
}
