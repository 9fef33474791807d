import { settleSession } from './checkout.ts';
import { noSuch } from './form.ts';
import { moveDispute, openDispute } from './money/disputes.ts';
import { deleteCustomer } from './named.ts';
import type { DisputeStatus } from './objects.ts';
import { cardOf, failRefund, refund, removeCard, saveCard } from './payments.ts';
import type { State } from './state.ts';
import { endSubscription, markInvoice, payByHand, renew, retryInvoices } from './subscriptions.ts';
import type { Webhooks } from './webhooks.ts';

/** The body of a control call. */
export interface ControlBody {
  id?: string;
  amount?: number;
  /** Of a dispute. */
  status?: DisputeStatus;
  succeeds?: boolean;
  lost?: number;
  twice?: number;
  lateMs?: number;
}

/** The objects that are listed: those whose state a person may want to see. */
const LISTED = [
  'checkout.session',
  'payment_intent',
  'subscription',
  'invoice',
  'dispute',
] as const;

/**
 * The calls under `/_simulator`, for people and tests: what banks and time do to a customer. The
 * amounts are in minor units; without one, all is meant.
 */
export function control(
  state: State,
  webhooks: Webhooks,
  { name, body }: { name: string; body: ControlBody },
): object {
  const { id = '', amount } = body;
  switch (name) {
    case 'objects':
      return LISTED.flatMap((kind) => state.all(kind)).map((one) => ({
        id: one.id,
        object: one.object,
        status: one.status,
      }));
    case 'events':
      return webhooks.events;
    case 'refund':
      return refund(state, id, amount);
    case 'fail-refund':
      failRefund(state, id);
      break;
    case 'dispute':
      return openDispute(state, id, { amount, ...(body.status && { status: body.status }) });
    case 'close-dispute':
      moveDispute(state, id, body.status ?? 'lost');
      break;
    case 'settle-session':
      settleSession(state, id, body.succeeds ?? true);
      break;
    case 'renew':
      renew(state, id);
      break;
    case 'retry-invoices':
      retryInvoices(state, id);
      break;
    case 'end':
      endSubscription(state, id);
      break;
    case 'pay-invoice':
      payByHand(state, id);
      break;
    case 'write-off':
      markInvoice(state, id, 'uncollectible');
      break;
    case 'delete-customer':
      return deleteCustomer(state, id);
    case 'archive-price':
      state.get('price', id).active = false;
      break;
    case 'card': {
      const card = cardOf(state, id) ?? saveCard(state, id);
      card.declines = body.succeeds === false;
      break;
    }
    case 'remove-card':
      removeCard(state, id);
      break;
    case 'hold-events':
      webhooks.hold();
      break;
    case 'release-events':
      webhooks.release();
      break;
    case 'delivery': {
      const { lost = 0, twice = 0, lateMs = 0 } = body;
      webhooks.delivery = { lost, twice, lateMs };
      break;
    }
    default:
      throw noSuch('control', name);
  }
  return { done: true };
}
