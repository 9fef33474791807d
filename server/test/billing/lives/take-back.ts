import type { DisputeStatus } from '../../../../simulators/stripe/objects.ts';
import {
  chargeOf,
  moveDispute,
  openDispute,
  refund,
  settleRefund,
} from '../../../../simulators/stripe/payments.ts';
import type { State } from '../../../../simulators/stripe/state.ts';
import type { Random } from '../../random.ts';

/** What may follow on the state of a dispute. */
const NEXT: Partial<Record<DisputeStatus, DisputeStatus[]>> = {
  warning_needs_response: ['warning_under_review', 'needs_response'],
  warning_under_review: ['warning_closed', 'needs_response'],
  needs_response: ['under_review', 'lost', 'won'],
  under_review: ['lost', 'won'],
  lost: ['appeal_needs_response'],
  appeal_needs_response: ['appeal_under_review', 'lost'],
  appeal_under_review: ['lost', 'won'],
};

/** Something that takes money of a payment back, or gives it again. */
export function takeBack(state: State, payment: string, random: Random): void {
  const refunds = state.all('refund').filter((one) => one.payment_intent === payment);
  const disputes = state.all('dispute').filter((one) => one.payment_intent === payment);
  const waiting = refunds.find(({ status }) => status !== 'failed' && status !== 'canceled');
  const moving = disputes.find(({ status }) => NEXT[status]);
  if (moving && random.chance(0.6)) {
    moveDispute(state, moving.id, random.pick(NEXT[moving.status] ?? []));
  } else if (waiting && random.chance(0.4)) {
    const isOver = waiting.status === 'succeeded';
    const ends = isOver ? (['failed'] as const) : (['succeeded', 'failed', 'canceled'] as const);
    settleRefund(state, waiting.id, random.pick([...ends]));
  } else if (disputes.length < 2 && random.chance(0.4)) {
    dispute(state, payment, random);
  } else if (random.chance(0.6)) {
    const status = random.pick(['succeeded', 'succeeded', 'pending', 'requires_action'] as const);
    refund(state, payment, random.whole(1, 700), status);
  }
}

function dispute(state: State, payment: string, random: Random): void {
  const { amount: whole } = chargeOf(state, payment);
  const amount = random.chance(0.5) ? undefined : random.whole(1, whole);
  const status = random.pick(['needs_response', 'warning_needs_response', 'prevented'] as const);
  const withdrawn =
    status === 'prevented' && random.chance(0.5) ? random.whole(1, whole) : undefined;
  openDispute(state, payment, { amount, status, ...(withdrawn && { withdrawn }) });
}

/** What is taken of a payment now. No dispute of these lives is in another currency. */
export function takenOf(state: State, payment: string): number {
  const alive = state
    .all('refund')
    .filter(({ payment_intent: of }) => of === payment)
    .filter(({ status }) => status !== 'failed' && status !== 'canceled');
  const disputes = state.all('dispute').filter(({ payment_intent: of }) => of === payment);
  // The simulator moves the money of a chargeback at once.
  const moved = disputes.flatMap((one) => one.balance_transactions);
  return [...alive, ...moved.map(({ amount }) => ({ amount: -amount }))].reduce(
    (sum, { amount }) => sum + amount,
    0,
  );
}
