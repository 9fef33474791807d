import type { Billing } from '../../billing/stripe-client.ts';
import type { Database } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';

export interface BillingSiteDeps {
  db: Database;
  /** undefined: nothing is on sale. */
  billing?: Billing | undefined;
}

/** @throws ApiError `not_found` if nothing is on sale, `service_busy` if Stripe failed */
export async function withStripe<Result>(
  { billing }: BillingSiteDeps,
  work: (billing: Billing) => Promise<Result>,
): Promise<Result> {
  if (!billing) throw new ApiError('not_found', 'This service sells no credits.');
  try {
    return await work(billing);
  } catch (error) {
    if (!isStripeError(error)) throw error;
    billing.log.error({ err: error }, 'a call to Stripe failed');
    const message = 'The payment provider does not respond. Try again: you are not charged twice.';
    throw new ApiError('service_busy', message, { cause: error, retryAfterSeconds: 10 });
  }
}

function isStripeError(error: unknown): boolean {
  const { type } = Object(error) as { type?: unknown };
  return error instanceof Error && typeof type === 'string' && type.startsWith('Stripe');
}
