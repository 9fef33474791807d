import type Stripe from 'stripe';
import { idOf } from '../stripe-client.ts';
import { share } from '../truth.ts';
import type { PlanPrice } from './plan-prices.ts';

export interface PaidInvoice {
  invoice: string;
  planId: string;
  /** Zero: no plan explains the paid lines. */
  credits: number;
  price: number;
  currency: string;
  expiresDays: number | null;
  /** Which lines brought no credits, for the operator; null: each line has a plan's price. */
  failure: string | null;
}

export type InvoiceWithLines = Omit<Stripe.Invoice, 'lines'> & { lines: Stripe.InvoiceLineItem[] };

interface Terms {
  /** Stripe's id of the subscription. Other invoices matter only for the customer's balance. */
  stripeSubscription: string;
  prices: Map<string, PlanPrice>;
  currentPlan: string;
}

/**
 * The credits of a subscription's paid invoices. Each line brings its price's credits, in
 * proportion to its amount before discounts; a proration brings those for its share of the period.
 * So an upgrade within a period brings the difference for the rest of it. A line without a plan's
 * price brings none.
 *
 * Credits come with the money that pays for them. Payments from the customer's Stripe balance bring
 * none: that money is from an earlier invoice, which has brought its credits. An amount too small
 * to charge becomes a debt in that balance, and its credits come with the next invoice that charges
 * it.
 * @param invoices of the customer, newest first, without drafts and voided ones
 */
export function creditsOfInvoices(invoices: InvoiceWithLines[], terms: Terms): PaidInvoice[] {
  let owed = NOTHING;
  const deficits: Deficits = new Map();
  return byTime(invoices).flatMap((invoice) => {
    const lines = soldOn(invoice, { ...terms, invoices });
    // Before the check of the status, because the plan change of an unpaid invoice counts too.
    const sold = { ...lines, credits: applyDeficit(deficits, invoice, lines.credits) };
    if (invoice.status !== 'paid') return [];
    const divided = divide(invoice, sold, owed);
    owed = divided.owed;
    if (subscriptionOfInvoice(invoice) !== terms.stripeSubscription) return [];
    const { credits, planPrice = sold.planPrice } = divided.paid;
    return paidInvoiceOf(invoice, { ...sold, credits, planPrice }, terms.currentPlan);
  });
}

/** Sorts invoices in the order in which Stripe applied the customer's balance to them. */
function byTime(invoices: InvoiceWithLines[]): InvoiceWithLines[] {
  const time = ({ status_transitions: at, created }: InvoiceWithLines) =>
    at.finalized_at ?? created;
  return invoices.toReversed().toSorted((a, b) => time(a) - time(b));
}

export function subscriptionOfInvoice({ parent }: Pick<Stripe.Invoice, 'parent'>): string | null {
  return idOf(parent?.subscription_details?.subscription);
}

export function priceOfLine(line: Stripe.InvoiceLineItem): string {
  return idOf(line.pricing?.price_details?.price) ?? '';
}

interface Sold {
  /** Below zero after a change to a more expensive plan with fewer credits. */
  credits: number;
  planPrice: PlanPrice | undefined;
  failure: string | null;
}

function soldOn(
  invoice: InvoiceWithLines,
  { prices, invoices }: Terms & { invoices: InvoiceWithLines[] },
): Sold {
  const periods = periodLines(invoices, subscriptionOfInvoice(invoice));
  const known = invoice.lines.flatMap((line) => {
    const planPrice = prices.get(priceOfLine(line));
    if (!planPrice || planPrice.currency !== invoice.currency) return [];
    return [{ line, planPrice, credits: creditsOf(line, planPrice, periods) }];
  });
  // A whole period under a coupon of 100 % brings its credits. A change of plan that nobody pays
  // for brings none.
  const paid = isFree(invoice) ? known.filter(({ line }) => !isProration(line)) : known;
  const explained = new Set(known.map(({ line }) => line));
  const others = invoice.lines.filter((line) => line.amount > 0 && !explained.has(line));
  return {
    credits: paid.reduce((sum, { credits }) => sum + credits, 0),
    planPrice: known.toSorted((a, b) => b.credits - a.credits)[0]?.planPrice,
    failure: unexplained(invoice, others),
  };
}

/** Credits that downgrades still have to give back, by period. */
type Deficits = Map<string, number>;

/**
 * Subtracts the credits that earlier downgrades in the period should have given back, and records
 * what is still missing. A downgrade by 300 credits and an upgrade by 500 bring 200, as one upgrade
 * by 200 would. A downgrade that refunds money needs no deficit: its Stripe balance pays for the
 * next change, and what is paid from there brings no credits.
 */
function applyDeficit(deficits: Deficits, invoice: InvoiceWithLines, credits: number): number {
  const change = invoice.lines.find(isProration);
  if (!change || (invoice.total < 0 && credits < 0)) return Math.max(0, credits);
  const period = `${subscriptionOfInvoice(invoice)} ${change.period.end}`;
  const afterDeficit = credits - (deficits.get(period) ?? 0);
  deficits.set(period, Math.max(0, -afterDeficit));
  return Math.max(0, afterDeficit);
}

function isFree({ lines }: InvoiceWithLines): boolean {
  return lines.every((line) => line.amount <= discountOf(line));
}

function isProration({ parent }: Stripe.InvoiceLineItem): boolean {
  const details = parent?.subscription_item_details ?? parent?.invoice_item_details;
  return details?.proration ?? false;
}

function unexplained(invoice: InvoiceWithLines, lines: Stripe.InvoiceLineItem[]): string | null {
  if (lines.length === 0 || invoice.amount_due <= 0) return null;
  const amount = lines.reduce((sum, line) => sum + line.amount, 0);
  const names = [...new Set(lines.map((line) => priceOfLine(line) || 'none'))].join(', ');
  return `no plan explains lines of ${amount} ${invoice.currency} (price: ${names.slice(0, 200)})`;
}

/**
 * A line's credits; below zero for the unused rest of a period. Those of a proration do not follow
 * from its amount, which may include a discount that the line does not show.
 */
function creditsOf(
  line: Stripe.InvoiceLineItem,
  planPrice: PlanPrice,
  periods: Stripe.InvoiceLineItem[],
): number {
  const { credits: periodCredits, price } = planPrice;
  if (!isProration(line)) return Math.round((periodCredits * line.amount) / price);
  const part = shareOfPeriod(line, planPrice, periods);
  const credits = Math.round(periodCredits * (line.quantity ?? 1) * part);
  return isGivenBack(line) ? -credits : credits;
}

function discountOf({ discount_amounts: discounts }: Stripe.InvoiceLineItem): number {
  return (discounts ?? []).reduce((sum, { amount }) => sum + amount, 0);
}

function isGivenBack({ amount, parent }: Stripe.InvoiceLineItem): boolean {
  const details = parent?.subscription_item_details ?? parent?.invoice_item_details;
  return amount < 0 || Boolean(details?.proration_details?.credited_items);
}

function periodLines(invoices: InvoiceWithLines[], subscription: string | null) {
  const own = invoices.filter((invoice) => subscriptionOfInvoice(invoice) === subscription);
  return own.flatMap(({ lines }) => lines.filter((line) => !isProration(line)));
}

/**
 * A proration's share of its period, by time as in Stripe's amount. A trial brings nothing. If no
 * line begins the period, because the seller chose the renewal day, the calendar gives its length.
 */
function shareOfPeriod(
  { period: { start, end } }: Stripe.InvoiceLineItem,
  { period }: PlanPrice,
  periods: Stripe.InvoiceLineItem[],
): number {
  const begun = periods.find((line) => line.period.end === end && line.period.start <= start);
  if (begun?.amount === 0) return 0;
  const first = begun?.period.start ?? onePeriodBefore(end, period);
  return Math.min(1, (end - start) / (end - first));
}

/** The same day a period earlier, or that month's last day if the month is too short. */
function onePeriodBefore(end: number, period: PlanPrice['period']): number {
  const date = new Date(end * 1000);
  const day = date.getUTCDate();
  date.setUTCMonth(date.getUTCMonth() - (period === 'year' ? 12 : 1));
  if (date.getUTCDate() !== day) date.setUTCDate(0);
  return date.getTime() / 1000;
}

/** An amount with the credits it brings: paid now, or still a debt in the Stripe balance. */
interface Part {
  amount: number;
  credits: number;
  planPrice: PlanPrice | undefined;
}

const NOTHING: Part = { amount: 0, credits: 0, planPrice: undefined };

/**
 * Splits sales and earlier debt into the part that this invoice pays and the debt after it. The
 * rest is paid from the balance, or given back.
 */
function divide(invoice: InvoiceWithLines, sold: Sold, before: Part): { paid: Part; owed: Part } {
  const { total, amount_due: due, starting_balance: start } = invoice;
  const debt = Math.max(0, start);
  const old = partOf(before, debt, before.amount); // less any debt that the seller forgave
  const own = { ...sold, amount: Math.max(0, total) };
  // Charged: the money pays this invoice's sales first, then the earlier debt.
  if (due > 0) {
    const ofOwn = partOf(own, due, own.amount);
    const ofOld = partOf(old, due - ofOwn.amount, debt);
    return { paid: addParts(ofOwn, ofOld), owed: NOTHING };
  }
  // Free, or money is given back: the earlier debt stays.
  if (total <= 0) return { paid: own, owed: old };
  // Too small to charge, or paid from the balance: credits come later, for the part that is owed.
  return { paid: NOTHING, owed: addParts(partOf(own, start + total, total), old) };
}

function partOf({ amount, credits, planPrice }: Part, part: number, whole: number): Part {
  return { amount: share(amount, part, whole), credits: share(credits, part, whole), planPrice };
}

function addParts(a: Part, b: Part): Part {
  return {
    amount: a.amount + b.amount,
    credits: a.credits + b.credits,
    planPrice: a.credits >= b.credits ? a.planPrice : b.planPrice,
  };
}

function paidInvoiceOf(
  { id, total, currency }: InvoiceWithLines,
  { credits, planPrice, failure }: Sold,
  currentPlan: string,
): PaidInvoice[] {
  if (credits === 0 && failure === null) return [];
  const { plan_id: planId, expires_days: expiresDays = null } = planPrice ?? {
    plan_id: currentPlan,
  };
  const price = Math.max(0, total);
  return [{ invoice: id, planId, credits, price, currency, expiresDays, failure }];
}
