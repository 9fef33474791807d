import { namedStatement, statement, type Transaction } from '../database/database.ts';
import { ApiError } from '../kernel/errors.ts';
import { newId } from '../kernel/ids.ts';
import { insertOrder } from './credit-order.ts';
import { customerOf } from './customers.ts';
import { type Offer, readOffer } from './offers.ts';
import type { BillingDeps } from './stripe-client.ts';

const OPENED = statement(
  'order_opened',
  `update orders set stripe_id = $2, checkout_url = $3, revision = revision + 1
   where id = $1 and (stripe_id is null or stripe_id = $2)`,
);

// A second click within half an hour leads to the same Checkout.
const SAME = namedStatement(
  'order_same',
  ['accountId', 'offerId', 'credits', 'price', 'currency'],
  `select id, checkout_url from orders
   where account_id = :accountId and kind = 'pack' and state = 'pending' and offer_id = :offerId
     and credits = :credits and price = :price and currency = :currency
     and created_at > clock_now() - interval '30 minutes'
   order by created_at desc limit 1`,
);

// Purchases of an account come one after the other through here, so the count is exact.
const LOCK = statement(
  'order_lock_account',
  'select from billing_accounts where account_id = $1 for update',
);

const RECENT = statement(
  'order_recent',
  `select count(*)::int as orders from orders
   where account_id = $1 and created_at > clock_now() - interval '1 hour' and state <> 'paid'`,
);

/** How many orders an account may open in an hour without paying them. */
const MAX_UNPAID = 20;

/**
 * Opens a Checkout for a pack. The terms are stored in an order before Stripe is called.
 * @param wanted.savesCard whether the card may be used for automatic purchases later
 * @returns the order, and the address of the payment page
 * @throws ApiError `not_found` if the pack is not sold, `rate_limited`; Stripe's error
 */
export async function buyPack(
  deps: BillingDeps,
  wanted: { accountId: string; packId: string; savesCard: boolean },
): Promise<{ orderId: string; url: string }> {
  const { db } = deps;
  const { accountId, packId } = wanted;
  const pack = await readOffer(db, 'pack', packId);
  if (!pack?.active) throw new ApiError('not_found', 'This pack is not sold any more.');
  const [same] = await db.query<{ id: string; checkout_url: string | null }>(
    SAME,
    SAME.values({ ...pack, accountId, offerId: pack.id }),
  );
  if (same?.checkout_url && !wanted.savesCard) return { orderId: same.id, url: same.checkout_url };
  const customer = await customerOf(deps, accountId);
  const id = newId('order');
  await db.transaction(async (tx) => {
    await tx.query(LOCK, [accountId]);
    await requireFewUnpaid(tx, accountId);
    await insertOrder(tx, { id, accountId, kind: 'pack', offer: pack });
  });
  const url = await openCheckout(deps, { id, pack, customer, savesCard: wanted.savesCard });
  return { orderId: id, url };
}

async function requireFewUnpaid(tx: Transaction, accountId: string): Promise<void> {
  const [recent] = await tx.query<{ orders: number }>(RECENT, [accountId]);
  if ((recent?.orders ?? 0) < MAX_UNPAID) return;
  throw new ApiError('rate_limited', 'Too many purchases were started. Try again in an hour.', {
    retryAfterSeconds: 3600,
  });
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
  const session = await stripe.checkout.sessions.create(
    {
      ...{ mode: 'payment', customer, client_reference_id: id, metadata: { order: id } },
      line_items: [{ quantity: 1, price_data }],
      payment_intent_data: {
        metadata: { order: id },
        ...(order.savesCard && { setup_future_usage: 'off_session' as const }),
      },
      success_url: `${publicUrl()}/credits?order=${id}`,
      cancel_url: `${publicUrl()}/credits?canceled=${id}`,
    },
    { idempotencyKey: id },
  );
  if (session.url === null) throw new Error(`Checkout ${session.id} has no address`);
  await db.query(OPENED, [id, session.id, session.url]);
  return session.url;
}
