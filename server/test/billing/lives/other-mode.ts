import assert from 'node:assert/strict';
import { completeSession } from '../../../../simulators/stripe/checkout.ts';
import { refund } from '../../../../simulators/stripe/payments.ts';
import { buyPack } from '../../../src/billing/buy-pack.ts';
import { settleOrder } from '../../../src/billing/settle-order.ts';
import { type Life, pause, persevere } from './life.ts';

/** A pack that is paid in live mode, on the database that the sweeps of test mode work on. */
export const OTHER_MODE_LIFE: Life = {
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
