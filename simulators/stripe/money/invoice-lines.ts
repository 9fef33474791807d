import type { Coupon, InvoiceLine, Price } from '../objects.ts';
import { newObjectId } from '../state.ts';

/** A line in the making: of a whole period, or of its rest (`proration`). */
interface Wanted {
  price: Price;
  /** Without discounts; below zero: what is given back of a period. */
  amount: number;
  period: { start: number; end: number };
  coupon?: Coupon | undefined;
  proration?: boolean;
}

/** A line of an invoice, with its discount where Stripe shows it. */
export function lineOf({ price, amount, period, coupon, proration = false }: Wanted): InvoiceLine {
  const off = coupon ? Math.round((amount * coupon.percent) / 100) : 0;
  const isShown = !proration || (coupon?.itemized ?? false);
  const credited = { invoice: 'in_unknown', invoice_line_items: [] }; // which ones: not simulated
  return {
    id: newObjectId('il_'),
    amount: isShown ? amount : amount - off,
    quantity: 1,
    period,
    currency: price.currency,
    description: price.product_name,
    discounts: coupon ? [coupon.discount] : [],
    discount_amounts: coupon ? [{ amount: isShown ? off : 0, discount: coupon.discount }] : [],
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

/** What lines cost together, after discounts. */
export function totalOf(lines: InvoiceLine[]): number {
  const parts = lines.flatMap(({ amount, discount_amounts: discounts }) => [
    amount,
    ...discounts.map((discount) => -discount.amount),
  ]);
  return parts.reduce((sum, part) => sum + part, 0);
}
