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
  email: string | null;
  metadata: Metadata;
  invoice_settings: { default_payment_method: string | null };
  /** Below zero: what the next invoices take first. */
  balance: number;
  /** It can still be read, and nothing else. */
  deleted?: true;
}

export interface PaymentMethod extends Base {
  object: 'payment_method';
  type: 'card';
  /** null: it was removed, and can't be charged any more. */
  customer: string | null;
  card: { brand: string; last4: string };
  /** Not of Stripe: whether the bank declines it from now on. */
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
  /** Not of Stripe: what is sold, and what its payment or subscription gets. */
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
  last_payment_error: { code: string; decline_code?: string; message: string } | null;
}

export interface Charge extends Base {
  object: 'charge';
  amount: number;
  amount_refunded: number;
  currency: string;
  refunded: boolean;
  disputed: boolean;
  payment_intent: string;
  receipt_url: string;
  metadata: Metadata;
}

export interface Refund extends Base {
  object: 'refund';
  amount: number;
  status: 'succeeded' | 'failed';
  charge: string;
  payment_intent: string;
}

export interface Dispute extends Base {
  object: 'dispute';
  amount: number;
  status: string;
  charge: string;
  payment_intent: string;
}

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
      current_period_start: number;
      current_period_end: number;
    }>;
  };
}

export interface InvoiceLine {
  id: string;
  amount: number;
  description: string;
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
  /** What is charged: the total less what the customer has. */
  amount_due: number;
  hosted_invoice_url: string;
  parent: {
    type: 'subscription_details';
    subscription_details: { subscription: string; metadata: Metadata };
  };
  lines: { object: 'list'; data: InvoiceLine[] };
  /** Not included unless it is expanded. */
  payments: {
    object: 'list';
    data: Array<{ id: string; payment: { type: 'payment_intent'; payment_intent: string } }>;
  };
}

interface PortalConfiguration extends Base {
  object: 'billing_portal.configuration';
  /** Not of Stripe: the prices that a subscription may change to. */
  prices: string[];
  /** Not of Stripe: which changes wait for the end of the period. */
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
  | Refund
  | Dispute
  | Subscription
  | Invoice
  | PortalConfiguration
  | PortalSession;

export type ObjectName = StripeObject['object'];
export type ObjectOf<Name extends ObjectName> = Extract<StripeObject, { object: Name }>;
