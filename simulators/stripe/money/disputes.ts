import type { BalanceTransaction, Dispute, DisputeStatus } from '../objects.ts';
import { chargeOf } from '../payments.ts';
import type { State } from '../state.ts';

/** How a dispute begins; by default as a chargeback of all that was not refunded. */
interface Opening {
  amount?: number | undefined;
  /** `warning_...`: an inquiry. `prevented`: settled before it became a chargeback. */
  status?: DisputeStatus;
  /** The currency in which the bank asks; that of the charge if left out. */
  currency?: string;
  /** What is taken from the seller's account, in the seller's currency. */
  withdrawn?: number;
}

/** The customer asks the bank for the money back. */
export function openDispute(
  state: State,
  paymentId: string,
  { amount, status = 'needs_response', currency, withdrawn }: Opening = {},
): Dispute {
  const charge = chargeOf(state, paymentId);
  charge.disputed = true;
  const dispute = state.add('dispute', {
    amount: amount ?? charge.amount - charge.amount_refunded,
    currency: currency ?? charge.currency,
    status,
    charge: charge.id,
    payment_intent: paymentId,
    balance_transactions: [],
  });
  if (withdrawn !== undefined) withdraw(state, dispute, withdrawn);
  else withdrawOnce(state, dispute);
  state.emit('charge.dispute.created', dispute);
  return dispute;
}

/** Inquiries take nothing, and what was prevented took it when it was opened, or not at all. */
function isWithdrawn(status: DisputeStatus): boolean {
  return !status.startsWith('warning_') && status !== 'won' && status !== 'prevented';
}

const ENDS: readonly DisputeStatus[] = ['won', 'lost', 'warning_closed', 'prevented'];

/** The next step of a dispute: an inquiry becomes a chargeback, one that was lost is appealed. */
export function moveDispute(state: State, disputeId: string, status: DisputeStatus): void {
  const dispute = state.get('dispute', disputeId);
  dispute.status = status;
  withdrawOnce(state, dispute);
  const taken = takenBy(dispute);
  if (status === 'won' && taken > 0) withdraw(state, dispute, -taken);
  const isEnd = ENDS.includes(status);
  state.emit(isEnd ? 'charge.dispute.closed' : 'charge.dispute.updated', dispute);
}

/** What a dispute has of the seller's money now, in the seller's currency. */
function takenBy({ balance_transactions: moved }: Dispute): number {
  return moved.reduce((sum, { amount }) => sum - amount, 0);
}

/** Moves the money of a chargeback, if the bank asks in the currency of the charge. */
function withdrawOnce(state: State, dispute: Dispute): void {
  const { currency } = state.get('charge', dispute.charge);
  if (!isWithdrawn(dispute.status) || takenBy(dispute) > 0 || dispute.currency !== currency) return;
  withdraw(state, dispute, dispute.amount);
}

function withdraw(state: State, dispute: Dispute, amount: number): BalanceTransaction {
  const { currency } = state.get('charge', dispute.charge);
  const made = state.add('balance_transaction', { amount: -amount, currency });
  dispute.balance_transactions.push(made);
  return made;
}
