import assert from 'node:assert/strict';
import {
  completeSession,
  expireSession,
  settleSession,
} from '../../../../simulators/stripe/checkout.ts';
import { deleteCustomer } from '../../../../simulators/stripe/named.ts';
import { refund } from '../../../../simulators/stripe/payments.ts';
import { buyPack } from '../../../src/billing/buy-pack.ts';
import { listOrders } from '../../../src/billing/credit-order.ts';
import { settleOrder } from '../../../src/billing/settle-order.ts';
import { openPortal } from '../../../src/billing/subscription/portal.ts';
import { subscriptionOf } from '../../../src/billing/subscription/subscription.ts';
import type { Random } from '../../random.ts';
import type { BillingFixture } from '../billing-fixture.ts';
import { type Life, pause, persevere, spend, type World } from './life.ts';
import { PLAN_LIFE } from './plan.ts';
import { RELOAD_LIFE } from './reload.ts';
import { takeBack, takenOf } from './take-back.ts';
import { UNPAID_PLAN_LIFE } from './unpaid-plan.ts';

/** A pack by Checkout: paid now, later or never, then refunded in parts and disputed. */
const PACK_LIFE: Life = {
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

/**
 * A plan whose price is archived at Stripe before it is bought, and whose customer is deleted
 * afterwards, which ends it. The account then buys the plan again. It is an account of its own.
 */
const GONE_LIFE: Life = {
  name: 'gone',
  share: 2,
  run: async ({ fixture, spent }, random) => {
    const { db, scope } = fixture.deps;
    const { state } = fixture.simulator;
    const accountId = await fixture.customer();
    const subscribe = async () => {
      if (random.chance(0.5)) for (const price of state.all('price')) price.active = false;
      const { session } = await fixture.subscribe(accountId, 'hobby');
      await pause(random);
      return completeSession(state, session, 'now');
    };
    const { customer } = await subscribe();
    if (random.chance(0.5)) {
      deleteCustomer(state, customer);
      await fixture.settled();
      await subscribe();
    }
    await persevere(() => openPortal(fixture.deps, accountId));
    return async () => {
      spent.set(accountId, 0); // not before: other lives draw from these accounts
      if (!(await subscriptionOf(db, accountId, scope))) throw new Error('there is no plan');
      const orders = await listOrders(db, { accountId, limit: 10 });
      return orders.map(({ id }) => ({ order: id, credits: 3000 }));
    };
  },
};

/** A pack that is paid in live mode, on the database that the sweeps of test mode work on. */
const OTHER_MODE_LIFE: Life = {
  name: 'other mode',
  share: 1,
  run: async ({ fixture }, random, accountId) => {
    const live = await fixture.depsOf('sk_live_1');
    const state = fixture.simulator.stateOf('sk_live_1');
    const packId = await fixture.anotherPack();
    const { orderId, url } = await persevere(() =>
      buyPack(live, { accountId, packId, savesCard: true }),
    );
    const { payment_intent: payment } = completeSession(state, url.split('/').at(-1) ?? '', 'now');
    await pause(random);
    const refunded = random.pick([0, 300]);
    if (refunded > 0) refund(state, payment ?? '', refunded);
    return async () => {
      const { booked } = await settleOrder(fixture.deps, orderId);
      assert.equal(booked, 0, 'a process of test mode has booked an order of live mode');
      await settleOrder(live, orderId);
      return [{ order: orderId, credits: 1000 - refunded }];
    };
  },
};

/** All lives: the long ones have a file of their own. */
export const LIVES: readonly Life[] = [
  PACK_LIFE,
  PLAN_LIFE,
  RELOAD_LIFE,
  UNPAID_PLAN_LIFE,
  GONE_LIFE,
  OTHER_MODE_LIFE,
];
