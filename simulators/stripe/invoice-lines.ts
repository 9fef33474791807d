import type { Coupon, InvoiceLine, Price } from './objects.ts';
import { newObjectId } from './state.ts';

/** A line in the making: of a whole period, or of its rest (`proration`). */
interface Wanted {
  price: Price;
  quantity?: number;
  /** Without discounts; below zero: what is given back of a period. */
  amount: number;
  /** The line's discount; by default that of the coupon. */
  off?: number;
  period: { start: number; end: number };
  coupon?: Coupon | undefined;
  proration?: boolean;
}

/**
 * A line of an invoice. A proration has its discount in its amount, and shows one of the customer
 * as zero and one of the item not at all, unless discounts are itemized:
 * https://docs.stripe.com/changelog/clover/2025-09-30/itemize-proration-discount-amounts
 */
export function lineOf(wanted: Wanted): InvoiceLine {
  const { price, quantity = 1, amount, period, coupon, proration = false } = wanted;
  const { off = discountOf(amount, coupon) } = wanted;
  const isIncluded = proration && !coupon?.itemized;
  const shown = isIncluded && coupon?.isOfItem ? undefined : coupon?.discount;
  const credited = { invoice: 'in_unknown', invoice_line_items: [] }; // which ones: not simulated
  return {
    id: newObjectId('il_'),
    amount: isIncluded ? amount - off : amount,
    quantity,
    period,
    discount_amounts: shown ? [{ amount: isIncluded ? 0 : off, discount: shown }] : [],
    parent: {
      type: 'subscription_item_details',
      subscription_item_details: {
        proration,
        proration_details: { credited_items: proration && amount <= 0 ? credited : null },
      },
    },
    pricing: {
      type: 'price_details',
      price_details: { price: price.id, product: price.product },
    },
  };
}

/** What a coupon takes off an amount. */
export function discountOf(amount: number, coupon: Coupon | undefined): number {
  if (!coupon) return 0;
  return Math.min(amount, Math.round((amount * coupon.percent) / 100) + (coupon.amount ?? 0));
}

/** What lines cost together, after discounts. */
export function totalOf(lines: InvoiceLine[]): number {
  const parts = lines.flatMap(({ amount, discount_amounts: discounts }) => [
    amount,
    ...discounts.map((discount) => -discount.amount),
  ]);
  return parts.reduce((sum, part) => sum + part, 0);
}
