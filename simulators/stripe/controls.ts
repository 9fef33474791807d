import { noSuch } from './form.ts';
import { deleteCustomer } from './named.ts';
import type { DisputeStatus } from './objects.ts';
import { cardOf, moveDispute, openDispute, refund, removeCard, saveCard } from './payments.ts';
import type { State } from './state.ts';
import { endSubscription, payByHand, renew } from './subscriptions.ts';

/** The body of a control call. */
interface ControlBody {
  id?: string;
  amount?: number;
  /** The status that a dispute gets. */
  status?: DisputeStatus;
  succeeds?: boolean;
}

/** The objects that are listed: those whose state a person may want to see. */
const LISTED = [
  'checkout.session',
  'payment_intent',
  'subscription',
  'invoice',
  'dispute',
] as const;

type Control = (state: State, body: ControlBody & { id: string }) => unknown;

/** The control calls by name; the response to one that returns nothing is `done`. */
const CONTROLS: Record<string, Control> = {
  objects: (state) =>
    LISTED.flatMap((kind) => state.all(kind)).map(({ id, object, status }) => {
      return { id, object, status };
    }),
  refund: (state, { id, amount }) => refund(state, id, amount),
  dispute: (state, { id, amount, status }) =>
    openDispute(state, id, { amount, ...(status && { status }) }),
  'close-dispute': (state, { id, status = 'lost' }) => moveDispute(state, id, status),
  renew: (state, { id }) => renew(state, id),
  end: (state, { id }) => void endSubscription(state, id),
  'pay-invoice': (state, { id }) => void payByHand(state, id),
  'delete-customer': (state, { id }) => deleteCustomer(state, id),
  'archive-price': (state, { id }) => {
    state.get('price', id).active = false;
  },
  card(state, { id, succeeds }) {
    const card = cardOf(state, id) ?? saveCard(state, id);
    card.declines = succeeds === false;
  },
  'remove-card': (state, { id }) => removeCard(state, id),
};

/**
 * The calls under `/_simulator`, for people and tests: what banks and time do to a customer. The
 * amounts are in minor units; without one, all is meant.
 */
export function control(state: State, { name, body }: { name: string; body: ControlBody }): object {
  if (!Object.hasOwn(CONTROLS, name)) throw noSuch('control', name);
  const said = CONTROLS[name]?.(state, { id: '', ...body });
  return Object(said ?? { done: true });
}
