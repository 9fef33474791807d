import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  completeSession,
  expireSession,
  settleSession,
} from '../../../simulators/stripe/checkout.ts';
import {
  closeDispute,
  failRefund,
  openDispute,
  refund,
} from '../../../simulators/stripe/payments.ts';
import { movementNames } from '../../src/billing/credit-order.ts';
import { settleOrder } from '../../src/billing/settle-order.ts';
import { settleDue } from '../../src/billing/sweep.ts';
import { auditLedger } from '../../src/ledger/audit.ts';
import { reserve, settle } from '../../src/ledger/ledger.ts';
import { paymentSums } from '../../src/ledger/payments.ts';
import { auditOrders } from '../../src/operator/billing/audit-orders.ts';
import { createRandom, type Random, shuffled } from '../random.ts';
import { replayCommand } from '../replay.ts';
import { type BillingFixture, openBillingFixture } from './billing-fixture.ts';

const SEED = Number(process.env.FRAMEWRIGHT_SEED ?? Math.floor(Math.random() * 1e9));
const ORDERS = Number(process.env.FRAMEWRIGHT_ORDERS ?? 12);
const ACCOUNTS = Math.max(2, Math.floor(ORDERS / 4));
/** How many processes sweep at once. */
const SWEEPERS = 3;

/** Credits that were captured, by account. */
type Spent = Map<string, number>;

test(`${ORDERS} orders are exact under shuffled, repeated, lost and parallel events`, async (t) => {
  const random = createRandom(SEED);
  const chance = random.fork();
  const fixture = await openBillingFixture({ chance: () => chance.between(0, 1) });
  try {
    const spent = await live(fixture, random);
    const { checked, movements } = await compare(fixture, spent);
    const { length: events } = fixture.simulator.webhooks.events;
    t.diagnostic(`${checked} orders, ${events} events, ${movements} movements of credits`);
  } catch (error) {
    const variables = { FRAMEWRIGHT_SEED: SEED, FRAMEWRIGHT_ORDERS: ORDERS };
    t.diagnostic(`again: ${replayCommand(t.filePath ?? '', variables)}`);
    throw error;
  } finally {
    await fixture.close();
  }
});

/** All orders with what happens to them, in a random order, while several processes sweep. */
async function live(fixture: BillingFixture, random: Random): Promise<Spent> {
  const accounts: string[] = [];
  for (let i = 0; i < ACCOUNTS; i += 1) accounts.push(await fixture.customer());
  const spent: Spent = new Map(accounts.map((account) => [account, 0]));
  fixture.simulator.webhooks.delivery = { lost: 0.15, twice: 0.5, lateMs: 150 };
  let isOver = false;
  const sweepers = Array.from({ length: SWEEPERS }, async () => {
    while (!isOver) {
      await settleDue(fixture.deps);
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
  });
  const orders = Array.from({ length: ORDERS }, () => random.fork());
  try {
    await inGroups(shuffled(orders, random), 12, (own) => happen(fixture, own, spent));
    await fixture.simulator.webhooks.idle();
  } finally {
    isOver = true;
    await Promise.all(sweepers);
  }
  // What was lost is found when the orders are looked at again, a week later at most.
  await fixture.database.setClock(8 * 86_400);
  await settleDue(fixture.deps);
  return spent;
}

async function inGroups<Item>(
  items: Item[],
  size: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const rest = [...items];
  const next = async (): Promise<void> => {
    for (let item = rest.pop(); item !== undefined; item = rest.pop()) await work(item);
  };
  await Promise.all(Array.from({ length: size }, next));
}

/** The life of one order. */
async function happen(fixture: BillingFixture, random: Random, spent: Spent): Promise<void> {
  const { state } = fixture.simulator;
  const accountId = random.pick([...spent.keys()]);
  const packId = await fixture.anotherPack();
  const { id, stripe_id: checkout } = await fixture.buy(accountId, { savesCard: true, packId });
  const session = checkout ?? '';
  const pause = () => new Promise((resolve) => setTimeout(resolve, random.between(0, 60)));
  if (random.chance(0.1)) {
    expireSession(state, session);
    return;
  }
  const how = random.chance(0.3) ? 'later' : 'now';
  const { payment_intent: payment } = completeSession(state, session, how);
  await pause();
  if (how === 'later') {
    const succeeds = random.chance(0.8);
    settleSession(state, session, succeeds);
    if (!succeeds) return;
  }
  for (let step = random.below(5); step > 0; step -= 1) {
    await pause();
    // The page that customers return to asks too.
    if (random.chance(0.5)) await settleOrder(fixture.deps, id);
    await unsettle(fixture, payment ?? '', random);
    await spend(fixture, { accountId, credits: random.whole(1, 900) }, spent);
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

/** Reserves credits for a task, and captures or refunds them. */
async function spend(
  { deps: { db } }: BillingFixture,
  wanted: { accountId: string; credits: number },
  spent: Spent,
): Promise<void> {
  const { accountId, credits } = wanted;
  const task = { ...wanted, taskId: `task_${crypto.randomUUID()}` };
  const outcome = credits % 3 === 0 ? 'refund' : 'capture';
  try {
    await db.transaction((tx) => reserve(tx, task));
  } catch {
    return; // insufficient credits
  }
  await db.transaction((tx) => settle(tx, { ...task, outcome }));
  if (outcome === 'capture') spent.set(accountId, (spent.get(accountId) ?? 0) + credits);
}

/** Compares every order and every account with what Stripe says in the end. */
async function compare(fixture: BillingFixture, spent: Spent) {
  const { db } = fixture.deps;
  const problems: string[] = [];
  const report = (problem: string) => void problems.push(problem);
  await auditLedger(db, { report });
  await auditOrders(db, { orders: 100, transfers: 1000 }, report);
  assert.deepEqual(problems, []);
  const sessions = fixture.simulator.state.all('checkout.session');
  let movements = 0;
  const worth = new Map<string, number>();
  for (const session of sessions) {
    const order = await fixture.order(session.metadata.order ?? '');
    const expected = worthNow(fixture, session.payment_intent, session.payment_status === 'paid');
    assert.equal(order.booked, expected, order.id);
    const sums = await paymentSums(db, movementNames(order));
    assert.equal(
      sums.reduce((sum, { credits }) => sum + credits, 0),
      expected,
      order.id,
    );
    movements += order.movements;
    worth.set(order.account_id, (worth.get(order.account_id) ?? 0) + expected);
  }
  for (const [accountId, credits] of spent) {
    const { available, debt } = await fixture.balance(accountId);
    assert.equal(available - debt, (worth.get(accountId) ?? 0) - credits, accountId);
  }
  return { checked: sessions.length, movements };
}

/** The credits of a pack of 1000 for 1000, by what the simulator knows. */
function worthNow({ simulator: { state } }: BillingFixture, id: string | null, paid: boolean) {
  const payment = id === null ? undefined : state.get('payment_intent', id);
  const charge = payment?.latest_charge ? state.get('charge', payment.latest_charge) : undefined;
  if (!paid || !charge) return 0;
  const disputed = state
    .all('dispute')
    .filter((one) => one.charge === charge.id && one.status !== 'won')
    .reduce((sum, { amount }) => sum + amount, 0);
  return Math.max(0, 1000 - charge.amount_refunded - disputed);
}
