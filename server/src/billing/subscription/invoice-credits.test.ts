import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type Stripe from 'stripe';
import { completeSession } from '../../../../simulators/stripe/checkout.ts';
import type { Coupon, Invoice, Price } from '../../../../simulators/stripe/objects.ts';
import {
  declineCard,
  openDispute,
  refund,
  saveCard,
} from '../../../../simulators/stripe/payments.ts';
import { createState } from '../../../../simulators/stripe/state.ts';
import {
  beginSubscription,
  changePrice,
  endSubscription,
  invoiceNow,
  payInParts,
  renew,
  retryInvoices,
  setCoupon,
} from '../../../../simulators/stripe/subscriptions.ts';
import { openBillingFixture } from '../../../test/billing/billing-fixture.ts';
import { listOrders } from '../credit-order.ts';
import { retireOffer, setOffer } from '../offers.ts';
import { creditsOfInvoices, type InvoiceWithLines } from './invoice-credits.ts';
import { settleSubscription } from './settle-subscription.ts';

const fixture = await openBillingFixture({ auditsAllBut: [] });
const { state, available, priceOf } = fixture;
const [hobby, studio] = [await priceOf('hobby'), await priceOf('studio')];

type Subscribed = Awaited<ReturnType<typeof fixture.subscribed>>;

/** A renewal that was paid in parts of these amounts. */
async function paidInParts(amounts: number[]) {
  const { accountId, customer, stripe } = await fixture.subscribed();
  declineCard(state, customer);
  renew(state, stripe);
  const [invoice] = state.all('invoice');
  const payments = payInParts(state, invoice?.id ?? '', amounts);
  assert.equal(await available(accountId), 6000);
  return { accountId, stripe, payments: payments.map(({ id }) => id) };
}

test('refunds and disputes of each part of an invoice count', async () => {
  const { accountId, payments } = await paidInParts([1200, 800]);
  const [first = '', second = ''] = payments;
  refund(state, second, 400);
  assert.equal(await available(accountId), 5400);
  openDispute(state, second, { amount: 400 });
  assert.equal(await available(accountId), 4800);
  refund(state, first, 1200);
  assert.equal(await available(accountId), 3000);
});

test('a refund of a part that the invoice does not list counts too', async () => {
  const { accountId, payments } = await paidInParts(Array.from({ length: 20 }, () => 100));
  refund(state, payments[19] ?? '');
  assert.equal(await available(accountId), 5850);
});

test('a refund of a payment for two invoices is split between them', async () => {
  const { accountId, stripe, payments } = await paidInParts([2000]);
  const intent = state.get('payment_intent', payments[0] ?? '');
  intent.amount_received = 4000;
  Object.assign(state.get('charge', intent.latest_charge ?? ''), { amount: 4000 });
  const [first] = state.all('invoice');
  renew(state, stripe);
  const [second] = state.all('invoice');
  assert.ok(first && second);
  second.payments = first.payments;
  payInParts(state, second.id, []);
  assert.equal(await available(accountId), 9000);
  refund(state, intent.id, 2000);
  assert.equal(await available(accountId), 6000);
});

test('an upgrade by way of a plan with fewer credits brings no more than a direct one', async () => {
  const { db } = fixture.deps;
  const planWith = async (plan: string, price: number, credits: number) => {
    const terms = { name: plan, currency: 'usd', period: 'month', expires_days: null } as const;
    await setOffer(db, { ...terms, id: plan, kind: 'plan', price, credits });
    return priceOf(plan);
  };
  const [little, dear] = [await planWith('little', 2100, 1000), await planWith('dear', 5000, 3500)];
  const { accountId, stripe } = await fixture.subscribed();
  assert.equal(changePrice(state, stripe, little, 0).total, 100);
  assert.equal(await available(accountId), 3000);
  assert.equal(changePrice(state, stripe, dear, 0).total, 2900);
  assert.equal(await available(accountId), 3500, 'as by a direct upgrade');
  renew(state, stripe);
  assert.equal(await available(accountId), 7000);
  assert.equal(changePrice(state, stripe, studio, 0).total, 0);
  const other = await fixture.subscribed();
  declineCard(state, other.customer);
  assert.equal(changePrice(state, other.stripe, little, 0).status, 'open');
  declineCard(state, other.customer, false);
  changePrice(state, other.stripe, dear, 0);
  assert.equal(await available(other.accountId), 3500, 'even if the change between is unpaid');
  retryInvoices(state, other.stripe);
  assert.equal(await available(other.accountId), 3500);
  for (const plan of ['little', 'dear']) await retireOffer(db, 'plan', plan);
});

/** Changes at the end of the period, where an upgrade costs 0.30: too little for a charge. */
function changeLate(price: Price) {
  return ({ stripe }: Subscribed) => changePrice(state, stripe, price, 0.99);
}

function renews({ stripe }: Subscribed): void {
  renew(state, stripe);
}

function owes(cents: number) {
  return ({ customer }: Subscribed) => {
    state.get('customer', customer).balance += cents;
  };
}

/** Changes at the start of the period, under this coupon. */
function changeUnder(coupon: Omit<Coupon, 'discount'> | undefined, price: Price, total: number) {
  return ({ stripe, customer }: Subscribed) => {
    setCoupon(state, customer, coupon);
    assert.equal(changePrice(state, stripe, price, 0).total, total);
  };
}

const MOST = { percent: 90, itemized: false };

/** What happens, the credits that are available then, and what the newest invoice charges. */
type Step = [happens: (one: Subscribed) => unknown, credits: number, charged?: number];

const LIVES: Record<string, Step[]> = {
  'an amount too small to charge brings its credits with the invoice that charges it': [
    [changeLate(studio), 3000, 0],
    [renews, 3000 + 9000 + 60, 5030],
    [renews, 3000 + 9000 + 60 + 9000],
    [
      async ({ accountId }) => {
        const [, order] = await listOrders(fixture.deps.db, { accountId, limit: 3 });
        assert.deepEqual([order?.credits, order?.price, order?.amount], [9060, 5000, 5030]);
      },
      3000 + 9000 + 60 + 9000,
    ],
  ],
  'small changes back and forth bring only what the next invoice charges': [
    ...[studio, hobby, studio, hobby, studio, hobby].map(
      (price): Step => [changeLate(price), 3000],
    ),
    [renews, 6000, 2000],
  ],
  'a debt that the seller waives in part brings credits for the part that is charged': [
    [changeLate(studio), 3000],
    [owes(-20), 3000], // the seller waives a part
    [renews, 3000 + 9000 + 20],
  ],
  'the part paid from the balance brings nothing, and the rest is owed': [
    [owes(-1980), 3000],
    [renews, 3000],
    [renews, 3000 + 30 + 3000, 2020],
  ],
  'another debt of the customer does not bring charged credits again': [
    [changeLate(studio), 3000],
    [renews, 3000 + 9000 + 60],
    [owes(30), 3000 + 9000 + 60], // by the seller
    [renews, 3000 + 9000 + 60 + 9000],
  ],
  'the debt that a subscription leaves brings its credits in the next subscription': [
    [changeLate(studio), 3000],
    [({ stripe }) => endSubscription(state, stripe), 3000],
    [
      async ({ accountId }) => {
        completeSession(state, (await fixture.subscribe(accountId, 'hobby')).session, 'now');
      },
      3000 + 60 + 3000,
      2030,
    ],
  ],
  'an upgrade that gives money back, because of a new coupon, brings the difference once': [
    [changeUnder(MOST, studio, -1500), 9000],
    [changeUnder(undefined, hobby, 1500), 9000],
    [changeUnder(MOST, studio, -1500), 9000],
  ],
};

for (const [title, steps] of Object.entries(LIVES)) {
  test(title, async () => {
    const one = await fixture.subscribed();
    for (const [happens, credits, charged] of steps) {
      await happens(one);
      assert.equal(await available(one.accountId), credits);
      if (charged !== undefined) assert.equal(state.all('invoice')[0]?.amount_due, charged);
    }
  });
}

test('under a coupon of 100 %, a change within the period brings nothing, a new period all', async () => {
  const accountId = await fixture.customer();
  const { session } = await fixture.subscribe(accountId, 'hobby');
  const { customer } = state.get('checkout.session', session);
  setCoupon(state, customer, { percent: 100, itemized: false });
  const stripe = (await fixture.complete(session)).subscription ?? '';
  assert.equal(await available(accountId), 3000);
  for (const price of [studio, hobby, studio]) changePrice(state, stripe, price, 0.1);
  assert.equal(await available(accountId), 3000);
  renew(state, stripe);
  assert.equal(await available(accountId), 12_000);
});

test('an invoice is an order of its own subscription, not of a later one', async () => {
  const { accountId, id, stripe } = await fixture.subscribed();
  endSubscription(state, stripe);
  await fixture.settled();
  await fixture.withoutEvents(() => invoiceNow(state, stripe, [{ price: hobby, amount: 200 }]));
  const { session } = await fixture.subscribe(accountId, 'hobby');
  completeSession(state, session, 'now');
  assert.equal(await available(accountId), 6000);
  await settleSubscription(fixture.deps, id);
  assert.equal(await available(accountId), 6300);
});

interface Plan {
  price: number;
  credits: number;
}

/** A change of plan within a period, under the coupon of that moment. */
interface Change {
  plan: Plan;
  quantity: number;
  coupon: Omit<Coupon, 'discount'> | undefined;
  /** Which share of the period has passed. */
  passed: number;
}

/** Invoices and credits of a subscription that begins with the first change; no database. */
function simulate([first, ...changes]: [Change, ...Change[]], tax_percent: number) {
  const state = createState(() => undefined, { account: 'acct_1', livemode: false });
  const plans = new Map<string, Plan>();
  const priceOf = ({ plan }: Change): Price => {
    const terms = { currency: 'usd', recurring: { interval: 'month' }, active: true } as const;
    const named = { product: 'prod_1', product_name: 'A plan', metadata: {} };
    const made = state.add('price', { ...terms, ...named, unit_amount: plan.price });
    plans.set(made.id, plan);
    return made;
  };
  const invoice_settings = { default_payment_method: null };
  const { id: customer } = state.add('customer', { balance: 0, tax_percent, invoice_settings });
  saveCard(state, customer);
  setCoupon(state, customer, first.coupon);
  const { id } = beginSubscription(state, { customer, price: priceOf(first), metadata: {} });
  for (const change of changes) {
    setCoupon(state, customer, change.coupon);
    changePrice(state, id, priceOf(change), change.passed, change.quantity);
  }
  const invoices = state.all('invoice');
  const terms = { plan_id: 'a', currency: 'usd', period: 'month', expires_days: null } as const;
  const prices = new Map(
    [...plans].map(([stripe_price, plan]) => {
      return [stripe_price, { ...terms, ...plan, stripe_price, stripe_product: 'prod_1' }];
    }),
  );
  const asked = { stripeSubscription: id, prices, currentPlan: 'a' };
  const paid = creditsOfInvoices(invoices.map(withLines), asked);
  return { invoices, asked, paid, credits: paid.reduce((sum, { credits }) => sum + credits, 0) };
}

function withLines(invoice: Invoice): InvoiceWithLines {
  return { ...invoice, lines: invoice.lines.data } as unknown as Stripe.Invoice & {
    lines: Stripe.InvoiceLineItem[];
  };
}

test('a first period that ends on a day chosen by the seller brings its share of a month', () => {
  const plan = { price: 5000, credits: 9000 };
  const { invoices, asked } = simulate([{ plan, quantity: 1, coupon: undefined, passed: 0 }], 0);
  const [line] = invoices[0]?.lines.data ?? [];
  assert.ok(line);
  const [start, end] = ['2027-03-15T12:00:00Z', '2027-03-31T00:00:00Z'].map((time) => {
    return Date.parse(time) / 1000;
  });
  line.parent.subscription_item_details.proration = true;
  Object.assign(line, { amount: 1250, period: { start, end } }); // under a coupon of 50 %
  const [paid] = creditsOfInvoices(invoices.map(withLines), asked);
  assert.equal(paid?.credits, 4500);
});

/** None costs less than Stripe's minimum charge, whatever its coupon. */
const ARBITRARY_CHANGE: fc.Arbitrary<Change> = fc.record({
  plan: fc.record({
    price: fc.integer({ min: 2000, max: 50_000 }),
    credits: fc.integer({ min: 1, max: 100_000 }),
  }),
  quantity: fc.integer({ min: 1, max: 3 }),
  coupon: fc.option(
    fc.record({
      percent: fc.constantFrom(0, 10, 50, 90),
      amount: fc.constantFrom(0, 100),
      itemized: fc.boolean(),
      isOfItem: fc.boolean(),
    }),
    { nil: undefined },
  ),
  passed: fc.constantFrom(0, 0.1, 0.5, 0.9),
});

const LIFE = fc.tuple(ARBITRARY_CHANGE, fc.array(ARBITRARY_CHANGE, { maxLength: 4 }));
const TAX = fc.constantFrom(0, 19);

/** Only upgrades, from the first plan on, in the order of time. */
function upgrades([first, changes]: [Change, Change[]]): [Change, ...Change[]] {
  const rising = <Key extends 'price' | 'credits'>(key: Key) =>
    [first, ...changes].map(({ plan }) => plan[key]).sort((one, other) => one - other);
  const [prices, credits] = [rising('price'), rising('credits')];
  const times = changes.map(({ passed }) => passed).sort((one, other) => one - other);
  const made = [first, ...changes].map((change, at) => ({
    ...change,
    quantity: 1,
    passed: times[at - 1] ?? 0,
    plan: { price: prices[at] ?? 0, credits: credits[at] ?? 0 },
  }));
  return made as [Change, ...Change[]];
}

test('no invoice brings negative credits, whatever changes within a period', () => {
  fc.assert(
    fc.property(LIFE, TAX, ([first, changes], tax) => {
      const { paid } = simulate([{ ...first, quantity: 1 }, ...changes], tax);
      assert.ok(paid.every(({ credits }) => credits > 0));
    }),
  );
});

test("upgrades at the start of a period bring at least the last plan's credits", () => {
  fc.assert(
    fc.property(LIFE, TAX, (life, tax) => {
      const changes = upgrades(life).map((change) => ({ ...change, passed: 0 }));
      const { invoices, credits } = simulate(changes as [Change, ...Change[]], tax);
      fc.pre(!invoices.some(isBalanced));
      const last = changes.at(-1);
      assert.ok(last);
      assert.ok(credits >= last.plan.credits, `${credits} of ${last.plan.credits}`);
      const fresh = simulate([last], tax);
      assert.equal(fresh.credits, last.plan.credits);
    }),
  );
});

test('upgrades within a period bring each plan for its share of the period, under any coupon', () => {
  fc.assert(
    fc.property(LIFE, TAX, (life, tax) => {
      const changes = upgrades(life);
      const { invoices, credits } = simulate(changes, tax);
      fc.pre(!invoices.some(isBalanced) && !invoices.some(isFree));
      const due = changes.reduce((sum, { plan, passed }, at) => {
        const before = changes[at - 1]?.plan.credits ?? 0;
        return sum + (plan.credits - before) * (1 - passed);
      }, 0);
      assert.ok(Math.abs(credits - due) <= 2 * changes.length, `${credits} of ${due}`);
    }),
  );
});

/** Whether part of an invoice was paid from the customer's balance, or is still owed there. */
function isBalanced({ starting_balance: before, ending_balance: after }: Invoice): boolean {
  return before !== 0 || after > 0;
}

/** Whether discounts cover the whole invoice: a free change brings no credits. */
function isFree({ lines }: Invoice): boolean {
  return lines.data.every(({ amount, discount_amounts: discounts }) => {
    return discounts.reduce((rest, discount) => rest - discount.amount, amount) <= 0;
  });
}
