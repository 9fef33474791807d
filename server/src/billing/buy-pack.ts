import type Stripe from 'stripe';
import { command, namedStatement, queryValue, type Transaction } from '../database/database.ts';
import { ApiError } from '../kernel/errors.ts';
import { newId } from '../kernel/ids.ts';
import { type CreditOrder, insertOrder } from './credit-order.ts';
import { customerOf, withCustomer } from './customers.ts';
import { type Offer, readOffer } from './offers.ts';
import {
  type BillingDeps,
  createOrRetryWithNewKey,
  ifThere,
  inScope,
  type StripeClient,
  type StripeScope,
} from './stripe-client.ts';

const recordCheckout = queryValue<[id: string, session: string, url: string], string | null>(
  'order_opened',
  `update orders set stripe_id = coalesce(stripe_id, $2),
     checkout_url = coalesce(checkout_url, $3), revision = revision + 1
   where id = $1 returning checkout_url`,
  null,
);

// A second click within half an hour reuses the Checkout. While the first click waits for Stripe
// (three tries of 10 s), the order has neither a Stripe id nor a URL.
const REUSABLE = namedStatement(
  'order_same',
  `select id, stripe_id, checkout_url from orders
   where account_id = :accountId and kind = 'pack' and state = 'pending' and offer_id = :offerId
     and credits = :credits and price = :price and currency = :currency
     and saves_card = :savesCard and created_at > clock_now() - interval '30 minutes'
     and (checkout_url is not null
       or stripe_id is null and created_at > clock_now() - interval '35 seconds')
     and ${inScope('orders', ':mode', ':account')}
   order by created_at desc limit 1`,
);

// The order stays pending: its payment may take days.
const forgetPage = command<[id: string]>(
  'order_page_closed',
  'update orders set checkout_url = null where id = $1',
);

// Serializes the purchases of an account, so that the count is exact.
const lockPurchases = command<[accountId: string], Transaction>(
  'order_lock_account',
  `insert into billing_accounts (account_id) values ($1)
   on conflict (account_id) do update set account_id = excluded.account_id`,
);

const countUnpaid = queryValue<[accountId: string], number, Transaction>(
  'order_recent',
  `select count(*)::int as orders from orders
   where account_id = $1 and kind = 'pack' and state <> 'paid'
     and created_at > clock_now() - interval '1 hour'`,
  0,
);

/** How many orders an account may open in an hour without paying them. */
const MAX_UNPAID = 20;

/**
 * @param wanted.savesCard whether the card may be used for automatic purchases later
 * @throws ApiError `not_found` if the pack is not sold, `rate_limited`; Stripe's error
 */
export async function buyPack(
  deps: BillingDeps,
  wanted: { accountId: string; packId: string; savesCard: boolean },
): Promise<{ orderId: string; url: string }> {
  const { accountId, packId, savesCard } = wanted;
  const pack = await readOffer(deps.db, 'pack', packId);
  if (!pack?.active) throw new ApiError('not_found', 'This pack is not sold any more.');
  const { scope } = deps;
  await customerOf(deps, accountId); // first: if this fails, no order is left behind
  for (;;) {
    const order = await deps.db.transaction((tx) =>
      reuseOrInsertOrder(tx, { accountId, pack, savesCard, scope }),
    );
    const { id, checkout_url: url } = order;
    if (url === null) {
      const opened = await withCustomer(deps, accountId, (customer) =>
        openCheckout(deps, { id, pack, customer, savesCard }),
      );
      return { orderId: id, url: opened };
    }
    if (await canBePaid(deps.stripe, order)) return { orderId: id, url };
    await forgetPage(deps.db, id); // so that the next round opens another page
  }
}

type Opened = Pick<CreditOrder, 'id' | 'stripe_id' | 'checkout_url'>;

/** Reuses the order of an earlier click, and with it its Checkout, or inserts a new one. */
async function reuseOrInsertOrder(
  tx: Transaction,
  wanted: { accountId: string; pack: Offer; savesCard: boolean; scope: StripeScope },
): Promise<Opened> {
  const { accountId, pack, savesCard, scope } = wanted;
  await lockPurchases(tx, accountId);
  const [same] = await tx.query<Opened>(
    REUSABLE,
    REUSABLE.values({ ...pack, ...scope, accountId, offerId: pack.id, savesCard }),
  );
  if (same) return same;
  if ((await countUnpaid(tx, accountId)) >= MAX_UNPAID) {
    const message = 'Too many purchases were started. Try again in an hour.';
    throw new ApiError('rate_limited', message, { retryAfterSeconds: 3600 });
  }
  const id = newId('order');
  await insertOrder(tx, { id, accountId, kind: 'pack', offer: pack, savesCard, scope });
  return { id, stripe_id: null, checkout_url: null };
}

async function canBePaid(stripe: StripeClient, { stripe_id: id }: Opened): Promise<boolean> {
  if (id === null) return false;
  const session = await ifThere(stripe.checkout.sessions.retrieve(id));
  return session?.status === 'open'; // undefined: another mode has it
}

async function openCheckout(
  { db, stripe, publicUrl }: BillingDeps,
  order: { id: string; pack: Offer; customer: string; savesCard: boolean },
): Promise<string> {
  const { id, pack, customer } = order;
  const price_data = {
    currency: pack.currency,
    unit_amount: pack.price,
    product_data: { name: `${pack.name}: ${pack.credits} credits` },
  };
  const params: Stripe.Checkout.SessionCreateParams = {
    mode: 'payment',
    customer,
    client_reference_id: id,
    metadata: { order: id },
    line_items: [{ quantity: 1, price_data }],
    payment_intent_data: {
      metadata: { order: id },
      ...(order.savesCard && { setup_future_usage: 'off_session' as const }),
    },
    success_url: `${publicUrl()}/credits?order=${id}`,
    cancel_url: `${publicUrl()}/credits?canceled=${id}`,
  };
  // A duplicate Checkout does no harm: customers are sent to only one of them.
  const session = await createOrRetryWithNewKey(`${id}:${customer}`, (options) =>
    stripe.checkout.sessions.create(params, options),
  );
  if (session.url === null) throw new Error(`Checkout ${session.id} has no address`);
  return (await recordCheckout(db, id, session.id, session.url)) ?? session.url;
}
