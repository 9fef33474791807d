import { StripeRefusal } from './form.ts';
import type {
  BalanceTransaction,
  Charge,
  Dispute,
  DisputeStatus,
  Metadata,
  PaymentIntent,
  PaymentMethod,
  Refund,
} from './objects.ts';
import type { State } from './state.ts';

/** What a payment is for. */
export interface Payment {
  amount: number;
  currency: string;
  customer: string | null;
  method: PaymentMethod | undefined;
  metadata: Metadata;
}

/** Charges a card. A declined payment stays without a charge. */
export function pay(state: State, payment: Payment): PaymentIntent {
  const intent = openPayment(state, payment, 'requires_payment_method');
  return completePayment(state, intent, !(payment.method?.declines ?? false));
}

/** A payment that takes time, such as a bank transfer. */
export function openPayment(
  state: State,
  { amount, currency, customer, method, metadata }: Payment,
  status: PaymentIntent['status'],
): PaymentIntent {
  return state.add('payment_intent', {
    amount,
    currency,
    customer,
    metadata,
    status,
    payment_method: method?.id ?? null,
    latest_charge: null,
    amount_received: 0,
    last_payment_error: null,
  });
}

/** The payment arrives, or fails. */
export function completePayment(
  state: State,
  intent: PaymentIntent,
  succeeds: boolean,
): PaymentIntent {
  if (!succeeds) {
    intent.status = 'requires_payment_method';
    intent.last_payment_error = {
      code: 'card_declined',
      decline_code: 'insufficient_funds',
      message: 'Your card has insufficient funds.',
    };
    state.emit('payment_intent.payment_failed', intent);
    return intent;
  }
  const { amount, currency } = intent;
  const charge = state.add('charge', {
    amount,
    amount_refunded: 0,
    currency,
    receipt_url: '',
    disputed: false,
    payment_intent: intent.id,
    balance_transaction: state.add('balance_transaction', { amount, currency }).id,
  });
  charge.receipt_url = `${state.baseUrl}/receipts/${charge.id}`;
  intent.latest_charge = charge.id;
  intent.amount_received = amount;
  intent.status = 'succeeded';
  state.emit('payment_intent.succeeded', intent);
  return intent;
}

/** The refusal of a card, as the call that charged it gets it. */
export function cardError(intent: PaymentIntent): StripeRefusal {
  const { code = 'card_declined', decline_code, message = '' } = intent.last_payment_error ?? {};
  const body = { type: 'card_error', code, message, payment_intent: intent };
  return new StripeRefusal(402, { ...body, ...(decline_code && { decline_code }) });
}

/** Gives money back, at most what is left of the charge. */
export function refund(
  state: State,
  paymentId: string,
  amount?: number,
  status: 'succeeded' | 'pending' | 'requires_action' = 'succeeded',
): Refund {
  const charge = chargeOf(state, paymentId);
  const left = charge.amount - sumOf(refundsOf(state, charge).filter(isAlive));
  const given = Math.min(amount ?? left, left);
  const made = state.add('refund', {
    amount: given,
    currency: charge.currency,
    status,
    charge: charge.id,
    payment_intent: paymentId,
  });
  state.emit('refund.created', made);
  countRefunds(state, charge);
  return made;
}

/** The refunds of a charge, the newest first. */
export function refundsOf(state: State, { id }: Pick<Charge, 'id'>): Refund[] {
  return state.all('refund').filter(({ charge }) => charge === id);
}

function isAlive({ status }: Refund): boolean {
  return status !== 'failed' && status !== 'canceled';
}

function sumOf(of: Array<{ amount: number }>): number {
  return of.reduce((sum, { amount }) => sum + amount, 0);
}

/**
 * Counts a charge's refunds. Stripe does not document whether one that waits for the
 * customer counts; here it does not, so that nobody relies on it.
 */
function countRefunds(state: State, charge: Charge): void {
  const counted = refundsOf(state, charge).filter(
    (one) => isAlive(one) && one.status !== 'requires_action',
  );
  const before = charge.amount_refunded;
  charge.amount_refunded = sumOf(counted);
  if (charge.amount_refunded > before) state.emit('charge.refunded', charge);
}

/** A refund arrives, is returned by the bank, or is canceled before the customer acted. */
export function settleRefund(
  state: State,
  refundId: string,
  status: 'succeeded' | 'failed' | 'canceled',
): void {
  const made = state.get('refund', refundId);
  made.status = status;
  countRefunds(state, state.get('charge', made.charge));
  state.emit(status === 'failed' ? 'refund.failed' : 'refund.updated', made);
}

/** The charge of a payment. @throws StripeRefusal if it has none */
export function chargeOf(state: State, paymentId: string): Charge {
  return state.get('charge', state.get('payment_intent', paymentId).latest_charge ?? 'none');
}

/** A card that is saved with a customer, as its default. */
export function saveCard(state: State, customerId: string): PaymentMethod {
  const customer = state.get('customer', customerId);
  const method = state.add('payment_method', {
    customer: customerId,
    declines: false,
  });
  customer.invoice_settings.default_payment_method = method.id;
  return method;
}

/** The card that is charged while the customer is away. */
export function cardOf(state: State, customerId: string): PaymentMethod | undefined {
  const id = state.get('customer', customerId).invoice_settings.default_payment_method;
  return id === null ? undefined : state.get('payment_method', id);
}

/** The bank declines the saved card of a customer from now on, or does not any more. */
export function declineCard(state: State, customerId: string, declines = true): void {
  const card = cardOf(state, customerId);
  if (!card) throw new Error(`${customerId} has no card`);
  card.declines = declines;
}

/** The customer removes the saved card. */
export function removeCard(state: State, customerId: string): void {
  const customer = state.get('customer', customerId);
  customer.invoice_settings.default_payment_method = null;
  for (const method of state.all('payment_method')) {
    if (method.customer === customerId) method.customer = null;
  }
}

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

/** Inquiries take no money. A prevented dispute took it when it was opened, or not at all. */
function isWithdrawn(status: DisputeStatus): boolean {
  return !status.startsWith('warning_') && status !== 'won' && status !== 'prevented';
}

const ENDS: readonly DisputeStatus[] = ['won', 'lost', 'warning_closed', 'prevented'];

/** The next step of a dispute: an inquiry becomes a chargeback, a lost chargeback is appealed. */
export function moveDispute(state: State, disputeId: string, status: DisputeStatus): void {
  const dispute = state.get('dispute', disputeId);
  dispute.status = status;
  withdrawOnce(state, dispute);
  const taken = takenBy(dispute);
  if (status === 'won' && taken > 0) withdraw(state, dispute, -taken);
  const isEnd = ENDS.includes(status);
  state.emit(isEnd ? 'charge.dispute.closed' : 'charge.dispute.updated', dispute);
}

/** The part of the seller's money that a dispute holds now, in the seller's currency. */
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
