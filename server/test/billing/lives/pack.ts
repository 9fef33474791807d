import {
  completeSession,
  expireSession,
  settleSession,
} from '../../../../simulators/stripe/checkout.ts';
import { settleOrder } from '../../../src/billing/settle-order.ts';
import type { Random } from '../../random.ts';
import type { BillingFixture } from '../billing-fixture.ts';
import { type Life, pause, spend, type World } from './life.ts';
import { takeBack, takenOf } from './take-back.ts';

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
    takeBack(state, payment ?? '', random);
    await spend(world, { accountId, credits: random.whole(1, 900) });
  }
}

/** The credits of a pack of 1000 for 1000, by what the simulator knows. */
function worthNow({ simulator: { state } }: BillingFixture, session: string): number {
  const { payment_intent: id, payment_status: paid } = state.get('checkout.session', session);
  return id === null || paid !== 'paid' ? 0 : Math.max(0, 1000 - takenOf(state, id));
}
