import { settleSession } from './checkout.ts';
import { noSuch } from './form.ts';
import { moveDispute, openDispute } from './money/disputes.ts';
import { deleteCustomer } from './named.ts';
import type { DisputeStatus } from './objects.ts';
import { cardOf, refund, removeCard, saveCard, settleRefund } from './payments.ts';
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

type Control = (state: State, body: ControlBody & { id: string }, webhooks: Webhooks) => unknown;

/** By name; the response to one that returns nothing is `done`. */
const CONTROLS: Record<string, Control> = {
  objects: (state) =>
    LISTED.flatMap((kind) => state.all(kind)).map(({ id, object, status }) => {
      return { id, object, status };
    }),
  events: (_state, _body, { events }) => events,
  refund: (state, { id, amount }) => refund(state, id, amount),
  'fail-refund': (state, { id }) => settleRefund(state, id, 'failed'),
  dispute: (state, { id, amount, status }) =>
    openDispute(state, id, { amount, ...(status && { status }) }),
  'close-dispute': (state, { id, status = 'lost' }) => moveDispute(state, id, status),
  'settle-session': (state, { id, succeeds = true }) => settleSession(state, id, succeeds),
  renew: (state, { id }) => renew(state, id),
  'retry-invoices': (state, { id }) => retryInvoices(state, id),
  end: (state, { id }) => void endSubscription(state, id),
  'pay-invoice': (state, { id }) => void payByHand(state, id),
  'write-off': (state, { id }) => markInvoice(state, id, 'uncollectible'),
  'delete-customer': (state, { id }) => deleteCustomer(state, id),
  'archive-price': (state, { id }) => {
    state.get('price', id).active = false;
  },
  card(state, { id, succeeds }) {
    const card = cardOf(state, id) ?? saveCard(state, id);
    card.declines = succeeds === false;
  },
  'remove-card': (state, { id }) => removeCard(state, id),
  'hold-events': (_state, _body, webhooks) => webhooks.hold(),
  'release-events': (_state, _body, webhooks) => webhooks.release(),
  delivery(_state, { lost = 0, twice = 0, lateMs = 0 }, webhooks) {
    webhooks.delivery = { lost, twice, lateMs };
  },
};

/**
 * The calls under `/_simulator`, for people and tests: what banks and time do to a customer. The
 * amounts are in minor units; without one, all is meant.
 */
export function control(
  state: State,
  webhooks: Webhooks,
  { name, body }: { name: string; body: ControlBody },
): object {
  if (!Object.hasOwn(CONTROLS, name)) throw noSuch('control', name);
  const said = CONTROLS[name]?.(state, { id: '', ...body }, webhooks);
  return Object(said ?? { done: true });
}
