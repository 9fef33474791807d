import { completeSession } from '../../../../simulators/stripe/checkout.ts';
import { deleteCustomer } from '../../../../simulators/stripe/named.ts';
import { listOrders } from '../../../src/billing/credit-order.ts';
import { openPortal } from '../../../src/billing/subscription/portal.ts';
import { subscriptionOf } from '../../../src/billing/subscription/subscription.ts';
import { type Life, pause, persevere } from './life.ts';

/**
 * A plan whose price is archived at Stripe before it is bought, and whose customer is deleted
 * afterwards, which ends it. The account then buys the plan again. It is an account of its own.
 */
export const GONE_LIFE: Life = {
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
