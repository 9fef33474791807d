import { setTimeout as delay } from 'node:timers/promises';
import {
  type CreditOrder,
  listOrders,
  movementNames,
  type OrderFilter,
  ordersOf,
  readOrder,
  wakeOrder,
} from '../../billing/credit-order.ts';
import {
  askForPayment,
  orderOfPayment,
  readPaymentLook,
  STRIPE_PAYMENT,
} from '../../billing/payment-looks.ts';
import type { Database } from '../../database/database.ts';
import { UsageError } from '../../kernel/errors.ts';
import { paymentSums } from '../../ledger/payments.ts';
import { type Action, performAction } from '../actions.ts';

/** Of an order in a list for operators. Amounts are in minor units of the currency. */
export type OrderListing = ReturnType<typeof listingOf>;

/**
 * A page of orders, the newest first; of one account if `accountId` is given.
 * @param filter.after the last order of the page before
 */
export async function listOrdersForOperator(
  db: Database,
  filter: OrderFilter & { accountId?: string | undefined },
): Promise<OrderListing[]> {
  const { accountId, ...rest } = filter;
  const { after = null, limit } = filter;
  const orders =
    accountId === undefined
      ? await listOrders(db, rest)
      : await ordersOf(db, accountId, { after, limit });
  return orders.map(listingOf);
}

function listingOf(order: CreditOrder) {
  const { id, account_id, created_at, kind, offer_name, state, credits, booked } = order;
  const { price, currency, refunded, disputed, dispute, stripe_mode: mode } = order;
  return {
    order_id: id,
    account_id,
    created_at,
    kind,
    offer: offer_name,
    state,
    credits,
    /** Credits that the ledger has of it now. */
    booked,
    price,
    currency,
    refunded,
    disputed,
    dispute,
    /** Of Stripe: `test` or `live`; null: not known, from before modes were kept. */
    mode,
  };
}

async function requireOrder(db: Database, id: string): Promise<CreditOrder> {
  const order = await readOrder(db, id);
  if (order) return order;
  throw new UsageError(`there is no order ${JSON.stringify(id)}`);
}

/** Everything that is recorded of an order, with the movements of its credits. */
export async function showOrder(db: Database, id: string) {
  const order = await requireOrder(db, id);
  const { amount, stripe_id, stripe_payment, subscription_id, receipt_url, failure } = order;
  const { paid_at, settled_at, expires_at } = order;
  const movements = await paymentSums(db, movementNames(order));
  return {
    ...listingOf(order),
    amount,
    stripe_id,
    stripe_payment,
    subscription_id,
    receipt_url,
    failure,
    paid_at,
    settled_at,
    credits_expire_at: expires_at,
    movements: movements
      .map(({ name, credits }) => ({ reference: name, credits }))
      .sort((one, other) => one.reference.localeCompare(other.reference, 'en', { numeric: true })),
  };
}

/** How long the command waits for a worker. */
const WAIT_SECONDS = 15;
const LOOK_SECONDS = 0.25;

/**
 * Asks Stripe about an order now, by a worker, and waits for what it finds.
 * @param id of an order, or of an invoice or a payment at Stripe, whose order is found or made
 * @throws UsageError if there is no such order, or no worker settles it in time
 */
export async function settleByOperator(
  db: Database,
  action: Action,
  id: string,
  waitSeconds = WAIT_SECONDS,
) {
  if (!STRIPE_PAYMENT.test(id)) return settleKnown(db, action, { id, waitSeconds });
  const known = await orderOfPayment(db, id);
  if (known !== undefined) return settleKnown(db, action, { id: known, waitSeconds });
  await performAction(db, action, { target: id }, async (tx) => {
    await askForPayment(tx, id);
    return { changed: true };
  });
  const found = await waitFor({ id, waitSeconds }, () => readPaymentLook(db, id));
  if (found.order_id === null) throw new UsageError(`${id} has no order: ${found.answer}`);
  return { ...listingOf(await requireOrder(db, found.order_id)), changed: true };
}

async function settleKnown(db: Database, action: Action, wanted: Wanted) {
  const { id } = wanted;
  const before = await requireOrder(db, id);
  await performAction(db, action, { target: id }, async (tx) => ({
    changed: await wakeOrder(tx, id),
  }));
  return waitFor(wanted, async () => {
    const now = await requireOrder(db, id);
    if (now.settled_at?.getTime() === before.settled_at?.getTime()) return undefined;
    const changed = now.booked !== before.booked || now.state !== before.state;
    return { ...listingOf(now), changed };
  });
}

interface Wanted {
  id: string;
  waitSeconds: number;
}

/** Repeats a read until it finds something. */
async function waitFor<Found>(
  { id, waitSeconds }: Wanted,
  read: () => Promise<Found | undefined>,
): Promise<Found> {
  for (let waited = 0; waited < waitSeconds; waited += LOOK_SECONDS) {
    await delay(LOOK_SECONDS * 1000);
    const found = await read();
    if (found !== undefined) return found;
  }
  throw new UsageError(
    `no worker has settled ${id} in ${waitSeconds} s: is one running, with STRIPE_SECRET_KEY?`,
  );
}
