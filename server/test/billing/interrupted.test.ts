import assert from 'node:assert/strict';
import { test } from 'node:test';
import { completeSession } from '../../../simulators/stripe/checkout.ts';
import { refund } from '../../../simulators/stripe/payments.ts';
import { buyPack } from '../../src/billing/buy-pack.ts';
import { listOrders } from '../../src/billing/credit-order.ts';
import { orderReload } from '../../src/billing/low-balance/reload.ts';
import { setReload } from '../../src/billing/low-balance/settings.ts';
import { settleOrder } from '../../src/billing/settle-order.ts';
import type { BillingDeps } from '../../src/billing/stripe-client.ts';
import type { Database } from '../../src/database/database.ts';
import { openBillingFixture } from './billing-fixture.ts';

const fixture = await openBillingFixture({ auditsAllBut: [] });
fixture.simulator.webhooks.delivery = { lost: 1, twice: 0, lateMs: 0 };
const { state } = fixture;

/** A database that the process loses at one point: before a statement, before or after a commit. */
function losing(db: Database, at: number) {
  let point = 0;
  let isLost = false;
  const pass = () => {
    if (point === at) isLost = true;
    if (isLost) throw new Error('interrupted');
    point += 1;
  };
  const query: Database['query'] = async (...given) => {
    pass();
    return db.query(...given);
  };
  const transaction: Database['transaction'] = async (work, ...rest) => {
    const result = await db.transaction(
      async (tx) => {
        const inner = Object.create(tx, {
          query: {
            value: async (...given: Parameters<typeof tx.query>) => {
              pass();
              return tx.query(...given);
            },
          },
        });
        const done = await work(inner);
        pass();
        return done;
      },
      ...rest,
    );
    pass();
    return result;
  };
  const lost: Database = Object.create(db, {
    query: { value: query },
    transaction: { value: transaction },
  });
  return { db: lost, wasLost: () => isLost };
}

type Step = (deps: BillingDeps) => Promise<unknown>;

/** How many points are tried at a time. */
const WIDTH = 10;

/** Runs the work, interrupted at every point in turn and then done again. @returns the points */
async function atEachPoint(run: (step: (work: Step) => Promise<void>) => Promise<void>) {
  for (let first = 0; ; first += WIDTH) {
    const points = Array.from({ length: WIDTH }, (_, i) => losing(fixture.deps.db, first + i));
    await Promise.all(points.map((point) => run(stepping(point))));
    if (!points.every(({ wasLost }) => wasLost())) return first;
  }
}

/** Does a step; if it is interrupted, it is done again by a process that goes on. */
function stepping({ db, wasLost }: ReturnType<typeof losing>) {
  return async (work: Step): Promise<void> => {
    const isGone = wasLost();
    await work(isGone ? fixture.deps : { ...fixture.deps, db }).catch((error: Error) => {
      assert.equal(error.message, 'interrupted');
      return work(fixture.deps);
    });
  };
}

const available = async (accountId: string) => (await fixture.balance(accountId)).available;

test('a purchase and its refund are interrupted anywhere and done again: booked once', async () => {
  const points = await atEachPoint(async (step) => {
    const accountId = await fixture.customer();
    let id = '';
    await step(async (deps) => {
      const wanted = { accountId, packId: 'small', savesCard: false };
      id = (await buyPack(deps, wanted)).orderId;
    });
    const { stripe_id: session } = await fixture.order(id);
    const { payment_intent: payment } = completeSession(state, session ?? '', 'now');
    await step((deps) => settleOrder(deps, id));
    assert.equal(await available(accountId), 1000);
    refund(state, payment ?? '', 400);
    await step((deps) => settleOrder(deps, id));
    assert.equal(await available(accountId), 600);
  });
  assert.ok(points >= 20, `${points} points`);
});

test('an automatic purchase is interrupted anywhere and done again: paid and booked once', async () => {
  const points = await atEachPoint(async (step) => {
    const accountId = await fixture.customer();
    const bought = await fixture.buy(accountId, { savesCard: true });
    completeSession(state, bought.stripe_id ?? '', 'now');
    await settleOrder(fixture.deps, bought.id);
    await fixture.change(accountId, -900);
    await setReload(fixture.deps, accountId, { pack_id: 'small', below: 500, monthly_limit: 9000 });
    await step((deps) => orderReload(deps, accountId));
    const [{ id = '', kind = '' } = {}] = await listOrders(fixture.deps.db, {
      accountId,
      limit: 1,
    });
    assert.equal(kind, 'reload');
    await step((deps) => settleOrder(deps, id));
    assert.equal(await available(accountId), 1100);
    const { customer } = state.get('checkout.session', bought.stripe_id ?? '');
    const payments = state.all('payment_intent').filter((one) => one.customer === customer);
    assert.equal(payments.length, 2);
  });
  assert.ok(points >= 10, `${points} points`);
});
