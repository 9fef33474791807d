import type Stripe from 'stripe';
import { type Database, statement, type Transaction } from '../../database/database.ts';
import { newId } from '../../kernel/ids.ts';
import { paidBalances } from '../../ledger/payments.ts';
import { type CreditOrder, insertOrder } from '../credit-order.ts';
import { savedMethod } from '../customers.ts';
import { readOffer } from '../offers.ts';
import type { StripeClient } from '../stripe-client.ts';
import { failedTruth, type Truth, truthOfPayment } from '../truth.ts';

const STOP = statement(
  'reload_stop',
  `update billing_accounts set reload_stopped = $2, reload_stop_told_at = null
   where account_id = $1 and reload_pack is not null and reload_stopped is null`,
);

/** Ends the automatic purchases of an account until its customer switches them on again. */
export async function stopReload(tx: Transaction, accountId: string, why: string): Promise<void> {
  await tx.query(STOP, [accountId, why]);
}

const LOCK = statement(
  'reload_lock',
  `select b.reload_pack, b.reload_below, b.reload_limit
   from billing_accounts b join accounts a on a.id = b.account_id
   where b.account_id = $1 and b.reload_pack is not null and b.reload_stopped is null
     and a.disabled_at is null
   for update of b`,
);

interface Settings {
  reload_pack: string;
  reload_below: number;
  reload_limit: number;
}

// A statement of its own, after the lock: it must see the order of whoever had the lock before.
const ORDERS_OF_MONTH = statement(
  'reload_orders',
  `select coalesce(bool_or(state = 'pending'), false) as is_pending,
     coalesce(sum(price) filter (where created_at >= date_trunc('month', clock_now(), 'UTC')),
       0)::int8 as spent
   from orders where account_id = $1 and kind = 'reload' and state in ('pending', 'paid')`,
);

/**
 * Orders the chosen pack if the account is short of credits. One order is open at a time, and the
 * orders of a month stay within the limit, however many processes look at the account. The order is
 * paid when it is settled.
 * @returns the id of the new order; undefined: nothing was ordered
 */
export function orderReload(db: Database, accountId: string): Promise<string | undefined> {
  return db.transaction(async (tx) => {
    const [settings] = await tx.query<Settings>(LOCK, [accountId]);
    if (!settings) return undefined;
    const [orders] = await tx.query<{ is_pending: boolean; spent: number }>(ORDERS_OF_MONTH, [
      accountId,
    ]);
    if (!orders || orders.is_pending) return undefined;
    const pack = await readOffer(tx, 'pack', settings.reload_pack);
    if (!pack?.active) {
      await stopReload(tx, accountId, 'the pack is not sold any more');
      return undefined;
    }
    if (orders.spent + pack.price > settings.reload_limit) return undefined;
    // Read after the orders: a paid one has its credits in the balance.
    const [balance] = await paidBalances(tx, [accountId]);
    if (!balance || balance.debt > 0 || balance.available >= settings.reload_below) {
      return undefined;
    }
    const id = newId('order');
    await insertOrder(tx, { id, accountId, kind: 'reload', offer: pack });
    return id;
  });
}

/** Stripe forgets an Idempotency-Key after 24 hours. */
const KEY_SECONDS = 20 * 3600;

/**
 * What Stripe says of an automatic purchase. Charges the saved card if that was not done yet: the
 * Idempotency-Key is the order's id, so it is charged once, however often this runs. The card of an
 * account that is disabled is not charged any more, and none for an order that has failed.
 */
export async function readReload(stripe: StripeClient, order: CreditOrder): Promise<Truth> {
  if (order.stripe_id !== null) {
    const expand = ['latest_charge'];
    return truthOfPayment(
      stripe,
      await stripe.paymentIntents.retrieve(order.stripe_id, { expand }),
    );
  }
  const customer = order.stripe_customer;
  if (customer === null) return failedTruth('no card is saved', null);
  const mayCharge = order.state === 'pending' && !order.is_disabled;
  if (mayCharge && order.age_seconds < KEY_SECONDS) return charge(stripe, order, customer);
  const lost = await findPayment(stripe, order, customer);
  if (lost) return truthOfPayment(stripe, lost);
  return failedTruth(order.failure ?? 'the payment was not made', null);
}

async function charge(stripe: StripeClient, order: CreditOrder, customer: string): Promise<Truth> {
  const method = await savedMethod(stripe, customer);
  if (method === null) return failedTruth('no card is saved', null);
  try {
    const payment = await stripe.paymentIntents.create(
      {
        ...{ amount: order.price, currency: order.currency, customer, payment_method: method },
        ...{ confirm: true, off_session: true, metadata: { order: order.id } },
        description: `${order.offer_name}: ${order.credits} credits`,
        expand: ['latest_charge'],
      },
      { idempotencyKey: order.id },
    );
    return await truthOfPayment(stripe, payment);
  } catch (error) {
    return failureOf(stripe, { order, customer }, error);
  }
}

/**
 * The payment that a card or Stripe refused, canceled so that it can't succeed later.
 * @throws the error if it is not known whether the card was charged
 */
async function failureOf(
  stripe: StripeClient,
  { order, customer }: { order: CreditOrder; customer: string },
  error: unknown,
): Promise<Truth> {
  const {
    type,
    statusCode,
    payment_intent: made,
  } = Object(error) as Partial<Stripe.errors.StripeError>;
  if (type === 'StripeIdempotencyError') {
    const first = await findPayment(stripe, order, customer); // sent with another card then
    if (first) return truthOfPayment(stripe, first);
  }
  // 409: the call of another process with the same key is not answered yet.
  if (type === 'StripeInvalidRequestError' && statusCode !== 409) {
    return failedTruth('the payment was refused', null);
  }
  if (type !== 'StripeCardError' || !made) throw error;
  await stripe.paymentIntents.cancel(made.id).catch(() => undefined);
  const expand = ['latest_charge'];
  const payment = await stripe.paymentIntents.retrieve(made.id, { expand });
  if (payment.status === 'requires_action') throw error; // not canceled: tried again later
  return truthOfPayment(stripe, payment);
}

/** The payment of an order whose response was lost. */
async function findPayment(
  stripe: StripeClient,
  order: CreditOrder,
  customer: string,
): Promise<Stripe.PaymentIntent | undefined> {
  const gte = Math.floor(order.created_at.getTime() / 1000) - 3600;
  const expand = ['data.latest_charge'];
  const list = stripe.paymentIntents.list({ customer, created: { gte }, limit: 100, expand });
  for await (const payment of list) if (payment.metadata.order === order.id) return payment;
  return undefined;
}
