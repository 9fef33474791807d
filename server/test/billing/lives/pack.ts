import {
  completeSession,
  expireSession,
  settleSession,
} from '../../../../simulators/stripe/checkout.ts';
import {
  closeDispute,
  failRefund,
  openDispute,
  refund,
} from '../../../../simulators/stripe/payments.ts';
import { settleOrder } from '../../../src/billing/settle-order.ts';
import type { Random } from '../../random.ts';
import type { BillingFixture } from '../billing-fixture.ts';
import { type Life, pause, spend, type World } from './life.ts';

/** A pack by Checkout: paid now, later or never, then refunded in parts and disputed. */
export const PACK_LIFE: Life = {
  name: 'pack',
  share: 10,
  run: async (world, random, accountId) => {
    const { fixture } = world;
    const packId = await fixture.anotherPack();
    const { id, stripe_id: checkout } = await fixture.buy(accountId, { savesCard: true, packId });
    const session = checkout ?? '';
    await pay(world, random, { accountId, id, session });
    return () => [{ order: id, credits: worthNow(fixture, session) }];
  },
};

async function pay(
  world: World,
  random: Random,
  { accountId, id, session }: { accountId: string; id: string; session: string },
): Promise<void> {
  const { fixture } = world;
  const { state } = fixture.simulator;
  if (random.chance(0.1)) {
    expireSession(state, session);
    return;
  }
  const how = random.chance(0.3) ? 'later' : 'now';
  const { payment_intent: payment } = completeSession(state, session, how);
  await pause(random);
  if (how === 'later') {
    const succeeds = random.chance(0.8);
    settleSession(state, session, succeeds);
    if (!succeeds) return;
  }
  for (let step = random.below(5); step > 0; step -= 1) {
    await pause(random);
    // The page that customers return to asks too.
    if (random.chance(0.5)) await settleOrder(fixture.deps, id);
    await unsettle(fixture, payment ?? '', random);
    await spend(world, { accountId, credits: random.whole(1, 900) });
  }
}

/** Something that takes money back, or gives it again. */
async function unsettle(
  { simulator: { state } }: BillingFixture,
  payment: string,
  random: Random,
): Promise<void> {
  const refunds = state.all('refund').filter((one) => one.payment_intent === payment);
  const disputes = state.all('dispute').filter((one) => one.payment_intent === payment);
  const [open] = disputes.filter(({ status }) => status === 'needs_response');
  const [given] = refunds.filter(({ status }) => status === 'succeeded');
  if (open && random.chance(0.7)) {
    closeDispute(state, open.id, random.chance(0.6) ? 'won' : 'lost');
  } else if (given && random.chance(0.3)) {
    failRefund(state, given.id);
  } else if (disputes.length === 0 && random.chance(0.4)) {
    openDispute(state, payment, random.chance(0.5) ? undefined : random.whole(1, 1000));
  } else if (random.chance(0.6)) {
    refund(state, payment, random.whole(1, 700));
  }
}

/** The credits of a pack of 1000 for 1000, by what the simulator knows. */
function worthNow({ simulator: { state } }: BillingFixture, session: string): number {
  const { payment_intent: id, payment_status: paid } = state.get('checkout.session', session);
  const payment = id === null ? undefined : state.get('payment_intent', id);
  const charge = payment?.latest_charge ? state.get('charge', payment.latest_charge) : undefined;
  if (paid !== 'paid' || !charge) return 0;
  const disputed = state
    .all('dispute')
    .filter((one) => one.charge === charge.id && one.status !== 'won')
    .reduce((sum, { amount }) => sum + amount, 0);
  return Math.max(0, 1000 - charge.amount_refunded - disputed);
}
