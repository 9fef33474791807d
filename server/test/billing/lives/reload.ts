import assert from 'node:assert/strict';
import { completeSession } from '../../../../simulators/stripe/checkout.ts';
import {
  cardOf,
  declineCard,
  removeCard,
  saveCard,
} from '../../../../simulators/stripe/payments.ts';
import type { State } from '../../../../simulators/stripe/state.ts';
import { listOrders } from '../../../src/billing/credit-order.ts';
import { orderReload } from '../../../src/billing/low-balance/reload.ts';
import { setReload } from '../../../src/billing/low-balance/settings.ts';
import { settleOrder } from '../../../src/billing/settle-order.ts';
import type { Random } from '../../random.ts';
import { type Life, pause, spend, type World } from './life.ts';

/** Two packs a month fit into it. */
const LIMIT = 2500;

/**
 * Automatic purchases whose charge is declined, lost or broken, whose card is removed, and whose
 * events come late. Its account is its own, since the card and the limit are of the account.
 */
export const RELOAD_LIFE: Life = {
  name: 'reload',
  share: 4,
  run: async (world, random) => {
    const { fixture, spent } = world;
    const { deps, simulator } = fixture;
    const accountId = await fixture.customer();
    const first = await fixture.buy(accountId, { savesCard: true });
    const { customer } = completeSession(simulator.state, first.stripe_id ?? '', 'now');
    await settleOrder(deps, first.id);
    const own: World = { fixture, spent: new Map() };
    for (let step = random.whole(1, 5); step > 0; step -= 1) {
      await spend(own, { accountId, credits: 901 });
      await reload(world, random, { accountId, customer });
      await pause(random);
    }
    return async () => {
      spent.set(accountId, own.spent.get(accountId) ?? 0);
      const paid = paidOrders(simulator.state, customer).filter((id) => id !== first.id);
      assert.ok(paid.length * 1000 <= LIMIT, `${paid.length} purchases of ${accountId}`);
      assert.equal(new Set(paid).size, paid.length, 'an order was charged twice');
      const orders = await listOrders(deps.db, { accountId, limit: 100 });
      return orders.map(({ id, kind }) => {
        return { order: id, credits: kind === 'pack' || paid.includes(id) ? 1000 : 0 };
      });
    };
  },
};

/** One automatic purchase, if there is room for it. */
async function reload(
  { fixture: { deps, simulator } }: World,
  random: Random,
  { accountId, customer }: { accountId: string; customer: string },
): Promise<void> {
  const { state, webhooks } = simulator;
  if (!cardOf(state, customer)) saveCard(state, customer);
  await setReload(deps, accountId, { pack_id: 'small', below: 5000, monthly_limit: LIMIT });
  declineCard(state, customer, random.chance(0.2));
  const id = await orderReload(deps, accountId);
  if (id === undefined) return;
  if (random.chance(0.3)) webhooks.hold();
  disturbCharge(simulator, random);
  const settle = () => settleOrder(deps, id).catch(() => undefined);
  await settle();
  if (random.chance(0.4)) removeCard(state, customer);
  await settle();
  webhooks.release();
}

/** What happens to the next charge, of this life or of another one. */
function disturbCharge(simulator: World['fixture']['simulator'], random: Random): void {
  const call = 'POST payment_intents';
  const what = random.pick(['nothing', 'lost', 'saved-500', 'conflict', 'outage'] as const);
  if (what === 'nothing') return;
  // The package sends a call three times.
  const times = what === 'saved-500' ? 1 : random.whole(1, 4);
  simulator.failNext({ kind: what, call, isDone: random.chance(0.5) }, times);
}

/** The orders that a customer's card was charged for, once for each charge. */
function paidOrders(state: State, customer: string): string[] {
  return state
    .all('payment_intent')
    .filter((one) => one.customer === customer && one.status === 'succeeded')
    .flatMap(({ metadata }) => metadata.order ?? []);
}
