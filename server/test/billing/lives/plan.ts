import { completeSession } from '../../../../simulators/stripe/checkout.ts';
import type { Invoice, InvoiceLine } from '../../../../simulators/stripe/objects.ts';
import { declineCard } from '../../../../simulators/stripe/payments.ts';
import type { State } from '../../../../simulators/stripe/state.ts';
import {
  changePrice,
  payInParts,
  renew,
  setCoupon,
} from '../../../../simulators/stripe/subscriptions.ts';
import { listOrders } from '../../../src/billing/credit-order.ts';
import type { Random } from '../../random.ts';
import { type Life, pause, spend, type World } from './life.ts';
import { takeBack, takenOf } from './take-back.ts';

const CREDITS = { hobby: 3000, studio: 9000 };
type Plan = keyof typeof CREDITS;

/**
 * A plan that is renewed and changed: under coupons, with changes that are too small for a charge,
 * with a card that is declined, paid in parts, refunded and disputed. Its account is its own, since
 * an account has one plan.
 */
export const PLAN_LIFE: Life = {
  name: 'plan',
  share: 5,
  run: async (world, random) => {
    const { fixture, spent } = world;
    const { state } = fixture.simulator;
    const accountId = await fixture.customer();
    const own: World = { fixture, spent: new Map() };
    const { session } = await fixture.subscribe(accountId, 'hobby');
    const { customer } = state.get('checkout.session', session);
    drawCoupon(state, customer, random);
    const stripe = completeSession(state, session, 'now').subscription ?? '';
    const bought: Bought[] = [{ invoice: newestOf(state, customer), credits: CREDITS.hobby }];
    const life = { state, customer, stripe, plan: 'hobby' as Plan, bought };
    for (let step = random.whole(1, 8); step > 0; step -= 1) {
      await pause(random);
      await happen(world, random, life);
      await spend(own, { accountId, credits: random.whole(1, 900) });
    }
    return async () => {
      spent.set(accountId, own.spent.get(accountId) ?? 0);
      const orders = await listOrders(fixture.deps.db, { accountId, limit: 100 });
      const idOf = new Map(orders.map(({ id, stripe_id: invoice }) => [invoice, id]));
      return creditsDue(bought).map(({ invoice, credits }) => ({
        order: idOf.get(invoice.id) ?? `of ${invoice.id}`,
        credits: leftOf(state, invoice, credits),
      }));
    };
  },
};

/** An invoice, and the credits of its lines: below zero if more is given back than sold. */
interface Bought {
  invoice: Invoice;
  credits: number;
}

interface Lived {
  state: State;
  customer: string;
  stripe: string;
  plan: Plan;
  bought: Bought[];
}

function newestOf(state: State, customer: string): Invoice {
  const found = state.all('invoice').find((invoice) => invoice.customer === customer);
  if (!found) throw new Error(`${customer} has no invoice`);
  return found;
}

function drawCoupon(state: State, customer: string, random: Random): void {
  const percent = random.pick([0, 0, 50, 100]);
  const coupon = { percent, itemized: random.chance(0.5), isOfItem: random.chance(0.5) };
  setCoupon(state, customer, percent === 0 ? undefined : coupon);
}

async function happen({ fixture }: World, random: Random, life: Lived): Promise<void> {
  const { state, customer, bought } = life;
  const what = random.weighted({ renew: 3, change: 3, coupon: 1, takeBack: 3 });
  if (what === 'coupon') drawCoupon(state, customer, random);
  else if (what === 'renew') renewSomehow(random, life);
  else if (what === 'takeBack') {
    const paid = bought.flatMap(({ invoice }) => paymentsOf(invoice));
    if (paid.length > 0) takeBack(state, random.pick(paid), random);
  } else {
    const plan = life.plan === 'hobby' ? 'studio' : 'hobby';
    const price = await fixture.priceOf(plan);
    const passed = random.pick([0, 0.5, 0.99, 0.99]);
    const rest = Math.round(100 - passed * 100) / 100;
    const invoice = changePrice(state, life.stripe, price, passed);
    bought.push({ invoice, credits: (CREDITS[plan] - CREDITS[life.plan]) * rest });
    life.plan = plan;
  }
}

/** Renews the plan: by the card, or in parts because the card is declined. */
function renewSomehow(random: Random, { state, customer, stripe, plan, bought }: Lived): void {
  declineCard(state, customer, random.chance(0.4));
  renew(state, stripe);
  declineCard(state, customer, false);
  const invoice = newestOf(state, customer);
  if (invoice.status === 'open') {
    const first = random.whole(1, invoice.amount_due - 1);
    payInParts(state, invoice.id, [first, invoice.amount_due - first]);
  }
  bought.push({ invoice, credits: CREDITS[plan] });
}

function paymentsOf({ payments }: Invoice): string[] {
  const paid = payments.data.filter(({ status }) => status === 'paid');
  return paid.map(({ payment }) => payment.payment_intent);
}

/**
 * The credits of each invoice that brings any, by the money: those for what the customer's balance
 * pays are not given, and those for what is owed come with the next charge. What a change to fewer
 * credits should have given back is subtracted from the next changes of the period.
 */
function creditsDue(bought: Bought[]): Bought[] {
  let owed = { money: 0, credits: 0 };
  let lacking = 0;
  return bought.flatMap(({ invoice, credits: sold }) => {
    const { total, amount_due: charged, starting_balance: before } = invoice;
    const debt = Math.max(0, before);
    if (debt < owed.money) {
      owed = { money: debt, credits: Math.floor((owed.credits * debt) / owed.money) };
    }
    if (invoice.billing_reason !== 'subscription_update') lacking = 0;
    else if (invoice.lines.data.every(isFree) || (total < 0 && sold < 0)) sold = 0;
    const due = Math.max(0, sold - lacking);
    lacking = Math.max(0, lacking - sold);
    let credits = total <= 0 ? due : 0;
    const payable = total + Math.min(0, before); // what no balance pays
    if (payable > 0 && total > 0) {
      const worth = Math.floor((due * payable) / total);
      owed = { money: owed.money + payable, credits: owed.credits + worth };
    }
    if (charged > 0) {
      credits += owed.credits;
      owed = { money: 0, credits: 0 };
    }
    return credits > 0 ? [{ invoice, credits }] : [];
  });
}

function isFree({ amount, discount_amounts: discounts }: InvoiceLine): boolean {
  return discounts.reduce((sum, discount) => sum - discount.amount, amount) <= 0;
}

/** The credits of an invoice, less what was taken back of its payments. */
function leftOf(state: State, invoice: Invoice, credits: number): number {
  const due = invoice.amount_due;
  if (due === 0) return credits;
  const taken = paymentsOf(invoice).reduce((sum, payment) => sum + takenOf(state, payment), 0);
  return Math.floor((credits * Math.max(0, due - taken)) / due);
}
