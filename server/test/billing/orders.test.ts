import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditOrders } from '../../src/billing/audit-orders.ts';
import { movementNames } from '../../src/billing/credit-order.ts';
import { settleDue } from '../../src/billing/sweep.ts';
import { auditLedger } from '../../src/ledger/audit.ts';
import { paymentSums } from '../../src/ledger/payments.ts';
import { LONG } from '../long.ts';
import { createRandom, type Random, shuffled } from '../random.ts';
import { replayCommand } from '../replay.ts';
import { sql } from '../task-fixtures.ts';
import { type BillingFixture, openBillingFixture } from './billing-fixture.ts';
import { type Due, type Life, persevering, type World } from './lives/life.ts';
import { LIVES } from './lives/lives.ts';

const SEED = Number(process.env.FRAMEWRIGHT_SEED ?? Math.floor(Math.random() * 1e9));
const ORDERS = LONG ? 300 : 6;
const ACCOUNTS = Math.max(2, Math.floor(ORDERS / 4));
/** The shares of calls to Stripe that go wrong. */
const FAULTS = { lost: 0.02, 'saved-500': 0.03, conflict: 0.02, 'rate-limit': 0.02 };
/** How many processes sweep at once. */
const SWEEPERS = 3;

test(`${ORDERS} orders are exact under shuffled, repeated, lost and parallel events`, async (t) => {
  const random = createRandom(SEED);
  const chance = random.fork();
  const fixture = await openBillingFixture({ chance: () => chance.between(0, 1) });
  try {
    const world: World = { fixture: persevering(fixture), spent: new Map() };
    const dues = await live(world, random);
    const { checked, movements } = await compare(world, dues);
    const { length: events } = fixture.simulator.webhooks.events;
    t.diagnostic(`${checked} orders, ${events} events, ${movements} movements of credits`);
  } catch (error) {
    t.diagnostic(`again: ${replayCommand(t.filePath ?? '', SEED)}`);
    throw error;
  }
});

/** All orders with what happens to them, in a random order, while several processes sweep. */
async function live(world: World, random: Random): Promise<Due[]> {
  const { fixture, spent } = world;
  for (let i = 0; i < ACCOUNTS; i += 1) spent.set(await fixture.customer(), 0);
  fixture.simulator.webhooks.delivery = { lost: 0.15, twice: 0.5, lateMs: 150 };
  fixture.simulator.faults.share = FAULTS;
  let isOver = false;
  const sweepers = Array.from({ length: SWEEPERS }, async () => {
    while (!isOver) {
      await settleDue(fixture.deps);
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
  });
  const orders = Array.from({ length: ORDERS }, () => random.fork());
  const dues: Due[] = [];
  try {
    await inGroups(shuffled(orders, random), 12, async (own) => {
      const accountId = own.pick([...spent.keys()]);
      dues.push(await drawLife(own).run(world, own, accountId));
    });
    await fixture.simulator.webhooks.idle();
  } finally {
    isOver = true;
    await Promise.all(sweepers);
  }
  // What was lost is found when the orders are looked at again, a week later at most.
  await fixture.database.setClock(8 * 86_400);
  await settleDue(fixture.deps);
  return dues;
}

function drawLife(random: Random): Life {
  const shares = Object.fromEntries(LIVES.map(({ name, share }) => [name, share]));
  const drawn = random.weighted(shares);
  return LIVES.find(({ name }) => name === drawn) ?? random.pick(LIVES);
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

/** Compares every order and every account with what Stripe says in the end. */
async function compare({ fixture, spent }: World, dues: Due[]) {
  const { db } = fixture.deps;
  await requireNoProblems(fixture);
  const due = new Map<string, number>();
  for (const ask of dues) for (const { order, credits } of await ask()) due.set(order, credits);
  let movements = 0;
  const worth = new Map<string, number>();
  for (const { id } of await sql<{ id: string }>(db, 'select id from orders')) {
    const order = await fixture.order(id);
    const expected = due.get(id) ?? 0; // what no life expects brings nothing
    assert.equal(order.booked, expected, id);
    const sums = await paymentSums(db, movementNames(order));
    assert.equal(
      sums.reduce((sum, { credits }) => sum + credits, 0),
      expected,
      id,
    );
    due.delete(id);
    movements += order.movements;
    worth.set(order.account_id, (worth.get(order.account_id) ?? 0) + expected);
  }
  assert.deepEqual([...due.keys()], [], 'orders that are missing');
  for (const [accountId, credits] of spent) {
    const { available, debt } = await fixture.balance(accountId);
    assert.equal(available - debt, (worth.get(accountId) ?? 0) - credits, accountId);
  }
  return { checked: dues.length, movements };
}

async function requireNoProblems({ deps: { db } }: BillingFixture): Promise<void> {
  const problems: string[] = [];
  const report = (problem: string) => void problems.push(problem);
  await auditLedger(db, { report });
  await auditOrders(db, { orders: 100, transfers: 1000 }, report);
  assert.deepEqual(problems, []);
}
