/** The objects that the simulator keeps, with the members that its callers may read. */

interface Base {
  id: string;
  /** Seconds since 1970. */
  created: number;
  /** Whether real money moves. */
  livemode: boolean;
}

export type Metadata = Record<string, string>;

interface Customer extends Base {
  object: 'customer';
  invoice_settings: { default_payment_method: string | null };
  /** Below zero: what the next invoices take first. Above: what the next invoice charges too. */
  balance: number;
  /** A deleted customer can still be read, but not used. */
  deleted?: true;
  /** Our own field: what its invoices are discounted by from now on. */
  coupon?: Coupon | undefined;
  /** Our own field: what its invoices are taxed with, on top of their prices. */
  tax_percent?: number;
}

export interface Coupon {
  /** The id of the discount. */
  discount: string;
  percent: number;
  /** What it takes off each line beside the percentage. */
  amount?: number;
  /** Whether the amount of a proration is without the discount, beside `discount_amounts`. */
  itemized: boolean;
  /** Whether it belongs to the subscription's item; otherwise it belongs to the customer. */
  isOfItem?: boolean;
}

export interface PaymentMethod extends Base {
  object: 'payment_method';
  /** null: it was removed, and can't be charged any more. */
  customer: string | null;
  /** Our own field: whether the bank declines it from now on. */
  declines: boolean;
}

export interface Price extends Base {
  object: 'price';
  active: boolean;
  product: string;
  product_name: string;
  currency: string;
  unit_amount: number;
  recurring: { interval: 'month' | 'year' } | null;
  metadata: Metadata;
}

export interface CheckoutSession extends Base {
  object: 'checkout.session';
  mode: 'payment' | 'subscription';
  status: 'open' | 'complete' | 'expired';
  payment_status: 'unpaid' | 'paid';
  customer: string;
  client_reference_id: string | null;
  metadata: Metadata;
  currency: string;
  amount_subtotal: number;
  amount_total: number;
  payment_intent: string | null;
  subscription: string | null;
  url: string | null;
  success_url: string;
  cancel_url: string;
  /** Our own field: what is sold, and what its payment or subscription gets. */
  item: { name: string; price: string | null };
  inner_metadata: Metadata;
  saves_card: boolean;
}

export interface PaymentIntent extends Base {
  object: 'payment_intent';
  amount: number;
  currency: string;
  status: 'requires_payment_method' | 'processing' | 'succeeded' | 'canceled';
  customer: string | null;
  payment_method: string | null;
  metadata: Metadata;
  latest_charge: string | null;
  amount_received: number;
  last_payment_error: { code: string; decline_code?: string; message: string } | null;
}

export interface Charge extends Base {
  object: 'charge';
  amount: number;
  amount_refunded: number;
  currency: string;
  disputed: boolean;
  payment_intent: string;
  receipt_url: string;
  balance_transaction: string;
}

/** What moved on the seller's account at Stripe, in the seller's currency. */
export interface BalanceTransaction extends Base {
  object: 'balance_transaction';
  amount: number;
  currency: string;
}

export interface Refund extends Base {
  object: 'refund';
  amount: number;
  currency: string;
  /** `requires_action`: the customer has to say where the money should go. */
  status: 'pending' | 'requires_action' | 'succeeded' | 'failed' | 'canceled';
  charge: string;
  payment_intent: string;
}

export interface Dispute extends Base {
  object: 'dispute';
  amount: number;
  currency: string;
  status: DisputeStatus;
  charge: string;
  payment_intent: string;
  balance_transactions: BalanceTransaction[];
}

export type DisputeStatus =
  | 'warning_needs_response'
  | 'warning_under_review'
  | 'warning_closed'
  | 'needs_response'
  | 'under_review'
  | 'appeal_needs_response'
  | 'appeal_under_review'
  | 'won'
  | 'lost'
  | 'prevented';

export interface Subscription extends Base {
  object: 'subscription';
  status: 'incomplete' | 'incomplete_expired' | 'active' | 'past_due' | 'unpaid' | 'canceled';
  customer: string;
  metadata: Metadata;
  cancel_at: number | null;
  cancel_at_period_end: boolean;
  ended_at: number | null;
  items: {
    object: 'list';
    data: Array<{
      id: string;
      price: Price;
      quantity: number;
      current_period_start: number;
      current_period_end: number;
    }>;
  };
  /** Our own field: what was charged for the present period, or for its rest from this start. */
  debit?: { amount: number; off: number; start: number; coupon: Coupon | undefined };
}

export interface InvoiceLine {
  id: string;
  /** Before discounts; of a proration after them, unless they are itemized. */
  amount: number;
  quantity: number;
  period: { start: number; end: number };
  discount_amounts: Array<{ amount: number; discount: string }>;
  parent: {
    type: 'subscription_item_details';
    subscription_item_details: {
      proration: boolean;
      /** For a line that gives back the rest of a period. */
      proration_details: {
        credited_items: { invoice: string; invoice_line_items: string[] } | null;
      };
    };
  };
  pricing: { type: 'price_details'; price_details: { price: string; product: string } };
}

export interface Invoice extends Base {
  object: 'invoice';
  status: 'draft' | 'open' | 'paid' | 'uncollectible' | 'void';
  billing_reason: string;
  customer: string;
  currency: string;
  /** Below zero: it is added to what the customer has with the seller. */
  total: number;
  /** What is charged: the total less what the customer has, or with what the customer owes. */
  amount_due: number;
  /** The customer's balance before and after it. */
  starting_balance: number;
  ending_balance: number;
  status_transitions: { finalized_at: number; paid_at: number | null };
  hosted_invoice_url: string;
  parent: {
    type: 'subscription_details';
    subscription_details: { subscription: string; metadata: Metadata };
  };
  lines: { object: 'list'; data: InvoiceLine[] };
  /** Not included unless it is expanded. */
  payments: { object: 'list'; data: InvoicePayment[] };
}

export interface InvoicePayment {
  id: string;
  object: 'invoice_payment';
  status: 'open' | 'paid' | 'canceled';
  /** Null until it is paid. */
  amount_paid: number | null;
  payment: { type: 'payment_intent'; payment_intent: string };
}

interface PortalConfiguration extends Base {
  object: 'billing_portal.configuration';
  active: boolean;
  /** Our own field: which changes wait for the end of the period. */
  at_period_end: string[];
}

interface PortalSession extends Base {
  object: 'billing_portal.session';
  customer: string;
  configuration: string;
  return_url: string;
  url: string;
}

export interface StripeEvent extends Base {
  object: 'event';
  api_version: string;
  type: string;
  data: { object: unknown };
}

export type StripeObject =
  | Customer
  | PaymentMethod
  | Price
  | CheckoutSession
  | PaymentIntent
  | Charge
  | BalanceTransaction
  | Refund
  | Dispute
  | Subscription
  | Invoice
  | PortalConfiguration
  | PortalSession;

export type ObjectName = StripeObject['object'];
export type ObjectOf<Name extends ObjectName> = Extract<StripeObject, { object: Name }>;
