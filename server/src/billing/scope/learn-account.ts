import { type BillingDeps, isOfKind } from '../stripe-client.ts';

/**
 * Asks Stripe, once, for the account of the key. A restricted key without permission works too: ids
 * are then told apart by their mode, and by whether Stripe has them.
 * @throws Stripe's error if it can't be asked
 */
export async function learnAccount({
  stripe,
  scope,
  log,
}: Pick<BillingDeps, 'stripe' | 'scope' | 'log'>): Promise<void> {
  if (scope.account !== null || scope.isAccountHidden) return;
  try {
    scope.account = (await stripe.accounts.retrieveCurrent()).id;
  } catch (error) {
    if (!isOfKind(error, 'StripePermissionError')) throw error;
    scope.isAccountHidden = true;
    log.info('the key of Stripe may not read its account: ids are kept with their mode only');
  }
}
