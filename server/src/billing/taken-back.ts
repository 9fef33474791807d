import type Stripe from 'stripe';
import { expanded, type StripeClient } from './stripe-client.ts';

/** How much of a charge was taken back, in minor units of its currency. */
export interface TakenBack {
  refunded: number;
  /** The amount that open and lost disputes take. */
  disputed: number;
  /** Stripe's status of the most severe dispute; null: none. */
  dispute: string | null;
}

/** The charge's `refunds` must be expanded. */
export async function takenBack(stripe: StripeClient, charge: Stripe.Charge): Promise<TakenBack> {
  const refunded = await refundedOf(stripe, charge);
  if (!charge.disputed) return { refunded, disputed: 0, dispute: null };
  const { data } = await stripe.disputes.list({ charge: charge.id, limit: 100 });
  const taken = await Promise.all(data.map((dispute) => takenBy(stripe, charge, dispute)));
  // A charge may say that it is disputed a moment before its dispute is listed.
  const dispute = mostSevere(data.map(({ status }) => status)) ?? 'needs_response';
  return { refunded, disputed: sum(taken), dispute };
}

export function sumTakenBack(parts: TakenBack[]): TakenBack {
  return {
    refunded: sum(parts.map(({ refunded }) => refunded)),
    disputed: sum(parts.map(({ disputed }) => disputed)),
    dispute: mostSevere(parts.flatMap(({ dispute }) => dispute ?? [])),
  };
}

function sum(amounts: number[]): number {
  return amounts.reduce((before, amount) => before + amount, 0);
}

/**
 * A refund counts once it is requested, even while it is pending or waits for the customer; not if
 * it failed or was canceled. `amount_refunded` does not tell them apart.
 */
async function refundedOf(stripe: StripeClient, charge: Stripe.Charge): Promise<number> {
  if (!charge.refunds) return charge.amount_refunded;
  const refunds = charge.refunds.has_more
    ? await Array.fromAsync(stripe.refunds.list({ charge: charge.id, limit: 100 }))
    : charge.refunds.data;
  const given = refunds.filter(({ status }) => status !== 'failed' && status !== 'canceled');
  return sum(given.map(({ amount }) => amount));
}

/**
 * A chargeback takes its amount from its start, before the bank moves money, until it is won. An
 * inquiry (`warning_...`) or a prevented dispute takes only the money that it moved.
 */
async function takenBy(
  stripe: StripeClient,
  charge: Stripe.Charge,
  dispute: Stripe.Dispute,
): Promise<number> {
  const { status, currency, amount } = dispute;
  if (status === 'won') return 0;
  const isChargeback = !status.startsWith('warning_') && status !== 'prevented';
  if (isChargeback && currency === charge.currency) return amount;
  return (await withdrawnBy(stripe, charge, dispute)) ?? (isChargeback ? charge.amount : 0);
}

/**
 * What a dispute has moved, in the charge's currency; all of the charge if it can't be converted.
 * Undefined: nothing.
 */
async function withdrawnBy(
  stripe: StripeClient,
  charge: Stripe.Charge,
  { balance_transactions: moved = [] }: Stripe.Dispute,
): Promise<number | undefined> {
  const withdrawn = -sum(moved.map(({ amount }) => amount));
  if (withdrawn <= 0) return undefined;
  const inCurrency = (currency: string) =>
    moved.every((movement) => movement.currency === currency);
  if (inCurrency(charge.currency)) return Math.min(withdrawn, charge.amount);
  const { balance_transaction: booked } = await stripe.charges.retrieve(charge.id, {
    expand: ['balance_transaction'],
  });
  const ofCharge = expanded<Stripe.BalanceTransaction>(booked);
  if (!ofCharge || !inCurrency(ofCharge.currency) || withdrawn >= ofCharge.amount)
    return charge.amount;
  return Math.ceil((charge.amount * withdrawn) / ofCharge.amount);
}

/** The states in which a dispute has ended, most severe first. */
const ENDED = ['lost', 'prevented', 'won', 'warning_closed'];

export function isDisputeOpen(dispute: string | null): boolean {
  return dispute !== null && !ENDED.includes(dispute);
}

/** The state of several disputes: that of an open one, if any. */
function mostSevere(states: string[]): string | null {
  // An open dispute has the index -1, so it comes first.
  const [first] = states.toSorted((a, b) => ENDED.indexOf(a) - ENDED.indexOf(b));
  return first ?? null;
}
