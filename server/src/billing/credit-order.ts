import { ACCOUNT_STATE, type AccountState, joinAccount } from '../accounts/account-sql.ts';
import {
  namedStatement,
  type Queryable,
  query,
  queryFirst,
  whether,
} from '../database/database.ts';
import { customerSql } from './customers.ts';
import type { Offer } from './offers.ts';
import type { ScopeColumns, StripeScope } from './stripe-client.ts';

/**
 * `mismatched`: the amount or currency paid is wrong, no plan explains the payment, or the account
 * was closed. Nothing is booked: an operator refunds the payment.
 */
export type OrderState = 'pending' | 'paid' | 'failed' | 'expired' | 'mismatched';

/** One purchase of credits. Its terms never change; the rest is synced from Stripe. */
export interface CreditOrder extends AccountState, ScopeColumns {
  id: string;
  account_id: string;
  /** `pack`: bought in Checkout. `reload`: bought automatically. `invoice`: of a subscription. */
  kind: 'pack' | 'reload' | 'invoice';
  offer_id: string;
  offer_name: string;
  subscription_id: string | null;
  credits: number;
  /** In minor units, before taxes. */
  price: number;
  currency: string;
  expires_days: number | null;
  /** The Checkout session, payment intent or invoice; null: not known to exist yet. */
  stripe_id: string | null;
  /** The payment page; null: not opened yet, or over. */
  checkout_url: string | null;
  state: OrderState;
  stripe_payment: string | null;
  /** The amount paid, including taxes. */
  amount: number | null;
  refunded: number;
  /** The amount that disputes take now. */
  disputed: number;
  /** Stripe's status of the dispute; null: none. */
  dispute: string | null;
  receipt_url: string | null;
  /** Why it was not paid, or why only part of the payment is booked. */
  failure: string | null;
  /** Until then, a failed reload may still turn out paid; null: it can't. */
  may_be_paid_until: Date | null;
  /** Whether `may_be_paid_until` has passed: a payment that is still missing does not exist. */
  is_last_look: boolean;
  /** Credits booked so far, spent or not. */
  booked: number;
  /** How many transfers booked these credits. */
  movements: number;
  expires_at: Date | null;
  revision: number;
  paid_at: Date | null;
  settled_at: Date | null;
  created_at: Date;
  age_seconds: number;
  stripe_customer: string | null;
}

const ORDERS = `select o.id, o.account_id, o.kind, o.offer_id, f.name as offer_name,
     o.subscription_id, o.credits, o.price, o.currency, o.expires_days, o.stripe_id,
     o.checkout_url, o.state, o.stripe_payment, o.amount, o.refunded, o.disputed, o.dispute,
     o.receipt_url, o.failure, o.booked, o.movements, o.expires_at, o.revision, o.paid_at,
     o.settled_at, o.created_at, o.may_be_paid_until,
     coalesce(o.may_be_paid_until <= clock_now(), false) as is_last_look,
     o.stripe_mode, o.stripe_account,
     ${customerSql('o.account_id', 'o.stripe_mode', 'o.stripe_account')} as stripe_customer,
     ${ACCOUNT_STATE},
     extract(epoch from clock_now() - o.created_at)::float8 as age_seconds
   from orders o join offers f on f.id = o.offer_id ${joinAccount('o.account_id')}`;

export const readOrder = queryFirst<[id: string], CreditOrder>(
  'order_read',
  `${ORDERS} where o.id = $1`,
);

const INSERT = namedStatement(
  'order_insert',
  `insert into orders (id, account_id, kind, offer_id, subscription_id, credits, price, currency,
     expires_days, saves_card, stripe_id, failure, stripe_mode, stripe_account)
   values (:id, :accountId, :kind, :offerId, :subscriptionId, :credits, :price, :currency,
     :expiresDays, :savesCard, :stripeId, :failure, :mode, :account)
   on conflict (stripe_id) do nothing returning id`,
);

const NO_INVOICE = { subscriptionId: null, stripeId: null, failure: null };

/**
 * Inserts an order for a pack at its current terms, or for a subscription's paid invoice.
 * `savesCard`: whether its Checkout also saves the card.
 * @returns false if the invoice has an order already
 */
export async function insertOrder(
  db: Queryable,
  order: {
    id: string;
    accountId: string;
    kind: CreditOrder['kind'];
    offer: Partial<Offer> & Pick<Offer, 'id' | 'credits' | 'price' | 'currency' | 'expires_days'>;
    savesCard?: boolean;
    invoice?: { subscriptionId: string; stripeId: string; failure: string | null };
    scope: StripeScope;
  },
): Promise<boolean> {
  const { offer, savesCard = null, invoice = NO_INVOICE, scope, ...rest } = order;
  const { credits, price, currency, expires_days: expiresDays } = offer;
  const terms = { offerId: offer.id, credits, price, currency, expiresDays };
  const values = INSERT.values({ ...rest, ...terms, ...invoice, ...scope, savesCard });
  return (await db.query(INSERT, values)).length > 0;
}

export function movementNames({ id, movements }: Pick<CreditOrder, 'id' | 'movements'>): string[] {
  return Array.from({ length: movements }, (_, i) => `order:${id}:${i + 1}`);
}

function listWhere<const Condition extends string>(name: string, condition: Condition) {
  return namedStatement(
    name,
    `${ORDERS} where ${condition} and (:state::text is null or o.state = :state)
       and (o.dispute is not null or not :disputed::boolean) and (:after::text is null
         or (o.created_at, o.id) < (select c.created_at, c.id from orders c where c.id = :after))
     order by o.created_at desc, o.id desc limit :limit`,
  );
}

// Two statements, so that the one for an account uses the account's index.
const LIST = listWhere('order_list', 'true');
const LIST_OF_ACCOUNT = listWhere('order_list_of_account', 'o.account_id = :accountId');

interface OrderFilter {
  /** undefined: of all accounts. */
  accountId?: string | undefined;
  state?: OrderState | undefined;
  /** Only orders that have or had a dispute. */
  disputed?: boolean;
  after?: string | undefined;
  limit: number;
}

export function listOrders(db: Queryable, filter: OrderFilter): Promise<CreditOrder[]> {
  const { accountId = null, state = null, disputed = false, after = null, limit } = filter;
  const list = accountId === null ? LIST : LIST_OF_ACCOUNT;
  return db.query<CreditOrder>(list, list.values({ accountId, state, disputed, after, limit }));
}

/** Makes an order due. @returns whether it exists */
export const wakeOrder = whether<[id: string]>(
  'order_wake',
  `update orders set due_at = clock_now(), revision = revision + 1 where id = $1 returning id`,
);

// Reads orders of the last days only: a Checkout ends a day after it was opened.
/** What was paid today (UTC), by currency and mode of Stripe; `price` is before taxes. */
export const soldToday = query<
  [],
  { currency: string; mode: 'test' | 'live'; orders: number; price: number }
>(
  'order_sold_today',
  `select currency, stripe_mode as mode, count(*)::int as orders, sum(price)::int8 as price
   from orders where created_at >= date_trunc('day', clock_now(), 'utc') - interval '2 days'
     and paid_at >= date_trunc('day', clock_now(), 'utc') group by 1, 2 order by 2, 1`,
);

/** The mismatched orders of the last week whose payment was not refunded, by kind. */
export const mismatchedOrders = query<[], { kind: string; orders: number }>(
  'figures_mismatched',
  `select kind, count(*)::int as orders from orders
   where state = 'mismatched' and settled_at > clock_now() - interval '7 days'
     and (coalesce(amount, 0) = 0 or refunded < amount) group by kind`,
);
