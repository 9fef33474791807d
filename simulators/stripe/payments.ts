import { StripeRefusal } from './form.ts';
import type { Charge, Dispute, Metadata, PaymentIntent, PaymentMethod, Refund } from './objects.ts';
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
    ...{ amount, currency, customer, metadata, status, payment_method: method?.id ?? null },
    ...{ latest_charge: null, last_payment_error: null },
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
  const charge = state.add('charge', {
    ...{ amount: intent.amount, amount_refunded: 0, currency: intent.currency, refunded: false },
    ...{ disputed: false, payment_intent: intent.id, metadata: intent.metadata, receipt_url: '' },
  });
  charge.receipt_url = `${state.baseUrl}/receipts/${charge.id}`;
  intent.latest_charge = charge.id;
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
export function refund(state: State, paymentId: string, amount?: number): Refund {
  const charge = chargeOf(state, paymentId);
  const left = charge.amount - charge.amount_refunded;
  const given = Math.min(amount ?? left, left);
  charge.amount_refunded += given;
  charge.refunded = charge.amount_refunded === charge.amount;
  const made = state.add('refund', {
    ...{ amount: given, status: 'succeeded', charge: charge.id, payment_intent: paymentId },
  });
  state.emit('charge.refunded', charge);
  return made;
}

/** A refund that the bank returns: the money is with the seller again. */
export function failRefund(state: State, refundId: string): void {
  const made = state.get('refund', refundId);
  const charge = state.get('charge', made.charge);
  made.status = 'failed';
  charge.amount_refunded -= made.amount;
  charge.refunded = false;
  state.emit('refund.failed', made);
}

/** The customer asks the bank for the money back. */
export function openDispute(state: State, paymentId: string, amount?: number): Dispute {
  const charge = chargeOf(state, paymentId);
  charge.disputed = true;
  const dispute = state.add('dispute', {
    amount: amount ?? charge.amount - charge.amount_refunded,
    ...{ status: 'needs_response', charge: charge.id, payment_intent: paymentId },
  });
  state.emit('charge.dispute.created', dispute);
  return dispute;
}

export function closeDispute(state: State, disputeId: string, status: 'won' | 'lost'): void {
  const dispute = state.get('dispute', disputeId);
  dispute.status = status;
  state.emit('charge.dispute.closed', dispute);
}

function chargeOf(state: State, paymentId: string): Charge {
  return state.get('charge', state.get('payment_intent', paymentId).latest_charge ?? 'none');
}

/** A card that is saved with a customer, as its default. */
export function saveCard(state: State, customerId: string): PaymentMethod {
  const customer = state.get('customer', customerId);
  const method = state.add('payment_method', {
    ...{ type: 'card', customer: customerId, card: { brand: 'visa', last4: '4242' } },
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

/** The customer removes the saved card. */
export function removeCard(state: State, customerId: string): void {
  const customer = state.get('customer', customerId);
  customer.invoice_settings.default_payment_method = null;
  for (const method of state.all('payment_method')) {
    if (method.customer === customerId) method.customer = null;
  }
}
