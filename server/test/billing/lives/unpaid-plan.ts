import { completeSession } from '../../../../simulators/stripe/checkout.ts';
import { declineCard } from '../../../../simulators/stripe/payments.ts';
import type { State } from '../../../../simulators/stripe/state.ts';
import {
  endSubscription,
  expireIncomplete,
  leaveUnpaid,
  markInvoice,
  payByHand,
  renew,
} from '../../../../simulators/stripe/subscriptions.ts';
import { listOrders } from '../../../src/billing/credit-order.ts';
import type { Random } from '../../random.ts';
import { type Life, pause } from './life.ts';

/**
 * A plan whose first or second invoice is not paid in time, but later, also after the subscription
 * has ended, or never.
 */
export const UNPAID_PLAN_LIFE: Life = {
  name: 'unpaid plan',
  share: 3,
  run: async ({ fixture, spent }, random) => {
    const { state } = fixture.simulator;
    const accountId = await fixture.customer();
    spent.set(accountId, 0);
    const { session } = await fixture.subscribe(accountId, 'hobby');
    const { customer } = state.get('checkout.session', session);
    const isIncomplete = random.chance(0.3);
    const stripe = completeSession(state, session, isIncomplete ? 'later' : 'now').subscription;
    await pause(random);
    if (!isIncomplete) leaveOwing(state, random, { customer, stripe: stripe ?? '' });
    await pause(random);
    payOrGiveUp(state, random, customer);
    const { status } = state.get('subscription', stripe ?? '');
    if (status === 'incomplete') expireIncomplete(state, stripe ?? '');
    return async () => {
      const orders = await listOrders(fixture.deps.db, { accountId, limit: 100 });
      const idOf = new Map(orders.map(({ id, stripe_id: invoice }) => [invoice, id]));
      return invoicesOf(state, customer)
        .filter((invoice) => invoice.status === 'paid')
        .map(({ id }) => ({ order: idOf.get(id) ?? `of ${id}`, credits: 3000 }));
    };
  },
};

function invoicesOf(state: State, customer: string) {
  return state.all('invoice').filter((invoice) => invoice.customer === customer);
}

/** A renewal that the card declines, and what the seller's settings make of it. */
function leaveOwing(
  state: State,
  random: Random,
  { customer, stripe }: { customer: string; stripe: string },
): void {
  declineCard(state, customer);
  renew(state, stripe);
  const [invoice] = invoicesOf(state, customer);
  const then = random.pick(['unpaid', 'ended', 'written off'] as const);
  if (then === 'unpaid') {
    leaveUnpaid(state, stripe);
    renew(state, stripe); // stays a draft
    return;
  }
  endSubscription(state, stripe);
  if (then === 'written off') markInvoice(state, invoice?.id ?? '', 'uncollectible');
}

/** The customer pays what can be paid, or some of it, with a card that works. */
function payOrGiveUp(state: State, random: Random, customer: string): void {
  declineCard(state, customer, false);
  for (const { id, status } of invoicesOf(state, customer)) {
    if (status === 'paid' || random.chance(0.3)) continue;
    if (status === 'draft') markInvoice(state, id, 'open');
    if (random.chance(0.8)) payByHand(state, id);
    else markInvoice(state, id, 'void');
  }
}
