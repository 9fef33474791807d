import type Stripe from 'stripe';
import { joinAccount } from '../../accounts/account-sql.ts';
import { queryFirst, type Transaction, whether } from '../../database/database.ts';
import { newId } from '../../kernel/ids.ts';
import { paidBalances } from '../../ledger/payments.ts';
import { mailOwner } from '../../mail/outbox.ts';
import { type CreditOrder, insertOrder } from '../credit-order.ts';
import { savedMethod } from '../customers.ts';
import { readOffer } from '../offers.ts';
import { type BillingDeps, inScope, type StripeClient, type StripeMode } from '../stripe-client.ts';
import { CHARGE_OF_PAYMENT, failedTruth, type Truth, truthOfPayment } from '../truth.ts';

const stop = whether<[accountId: string, why: string], Transaction>(
  'reload_stop',
  `update billing_accounts set reload_stopped = $2
   where account_id = $1 and reload_pack is not null and reload_stopped is null
   returning account_id`,
);

/** Stops an account's automatic purchases until its owner restarts them, and mails the owner. */
export async function stopReload(
  tx: Transaction,
  { publicUrl }: Pick<BillingDeps, 'publicUrl'>,
  { accountId, why }: { accountId: string; why: string },
): Promise<void> {
  if (!(await stop(tx, accountId, why))) return;
  const text =
    `No more credits are bought automatically for your account: ${why}.\n\n` +
    `Check the pack and your card, and switch auto-reload on again:\n${publicUrl()}/credits\n`;
  await mailOwner(tx, { accountId, subject: 'Auto-reload is stopped', text });
}

interface Settings {
  reload_pack: string;
  reload_below: number;
  reload_limit: number;
}

const lockSettings = queryFirst<[accountId: string], Settings, Transaction>(
  'reload_lock',
  `select b.reload_pack, b.reload_below, b.reload_limit
   from billing_accounts b ${joinAccount('b.account_id')}
   where b.account_id = $1 and b.reload_pack is not null and b.reload_stopped is null
     and a.disabled_at is null
   for update of b`,
);

// A separate statement after the lock, so that it sees the order of the previous lock holder.
const ordersOfMonth = queryFirst<
  [accountId: string, StripeMode, stripeAccount: string | null],
  { is_pending: boolean; spent: number },
  Transaction
>(
  'reload_orders',
  `select
     coalesce(bool_or(state = 'pending' or may_be_paid_until is not null), false) as is_pending,
     coalesce(sum(price) filter (where created_at >= date_trunc('month', clock_now(), 'UTC')),
       0)::int8 as spent
   from orders where account_id = $1 and kind = 'reload'
     and ${inScope('orders', '$2', '$3')}
     and (state in ('pending', 'paid', 'mismatched') or may_be_paid_until is not null)`,
);

/**
 * Orders the chosen pack if the account is short of credits; settling the order charges the card.
 * However many processes check the account, one order is open at a time and a month's orders stay
 * within the limit. A failed order counts as open while its payment may still appear.
 * @returns the id of the new order; undefined: nothing was ordered
 */
export function orderReload(
  deps: Pick<BillingDeps, 'db' | 'scope' | 'publicUrl'>,
  accountId: string,
): Promise<string | undefined> {
  const { db, scope } = deps;
  return db.transaction(async (tx) => {
    const settings = await lockSettings(tx, accountId);
    if (!settings) return undefined;
    const orders = await ordersOfMonth(tx, accountId, scope.mode, scope.account);
    if (!orders || orders.is_pending) return undefined;
    const pack = await readOffer(tx, 'pack', settings.reload_pack);
    if (!pack?.active) {
      await stopReload(tx, deps, { accountId, why: 'the pack is not sold any more' });
      return undefined;
    }
    if (orders.spent + pack.price > settings.reload_limit) return undefined;
    // Read after the orders, so that the balance has the credits of the paid ones.
    const [balance] = await paidBalances(tx, [accountId]);
    if (!balance || balance.debt > 0 || balance.available >= settings.reload_below) {
      return undefined;
    }
    const id = newId('order');
    await insertOrder(tx, { id, accountId, kind: 'reload', offer: pack, scope });
    return id;
  });
}

/** How long a charge may be repeated: Stripe forgets its Idempotency-Key after 24 hours. */
const KEY_SECONDS = 20 * 3600;

/**
 * How long after a charge its payment may appear: ten times the 60 seconds that the calls take at
 * most (30 to read the card, 30 to charge it).
 */
export const CHARGE_SECONDS = 600;

/**
 * Reads an automatic purchase from Stripe, and charges the saved card if needed: the
 * Idempotency-Key is the order's id, so it is charged once, however often this runs. Never charges
 * for a disabled account or a failed order. An order fails only after a search for its payment.
 */
export async function readReload(stripe: StripeClient, order: CreditOrder): Promise<Truth> {
  if (order.stripe_id !== null) return readPayment(stripe, order.stripe_id);
  const mayCharge = order.state === 'pending' && !order.is_disabled;
  if (mayCharge && order.age_seconds < KEY_SECONDS) return charge(stripe, order);
  return searchBeforeFailing(stripe, order, order.failure ?? 'the payment was not made');
}

/** Whether to search again, because a failed automatic purchase may still turn out paid. */
export function mayBePaid(
  order: CreditOrder,
  { state, stripeId }: { state: CreditOrder['state']; stripeId: string | null },
): boolean {
  if (order.kind !== 'reload' || state !== 'failed' || stripeId !== null) return false;
  return order.state === 'pending' || (order.may_be_paid_until !== null && !order.is_last_look);
}

async function charge(stripe: StripeClient, order: CreditOrder): Promise<Truth> {
  const customer = order.stripe_customer;
  const method = customer && (await savedMethod(stripe, customer));
  if (!customer || !method) return searchBeforeFailing(stripe, order, 'no card is saved');
  try {
    const payment = await stripe.paymentIntents.create(
      {
        amount: order.price,
        currency: order.currency,
        customer,
        payment_method: method,
        confirm: true,
        off_session: true,
        metadata: { order: order.id },
        // Otherwise Stripe requires a return URL, for payment methods that redirect.
        automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
        description: `${order.offer_name}: ${order.credits} credits`,
        expand: [CHARGE_OF_PAYMENT],
      },
      { idempotencyKey: order.id },
    );
    return await truthOfPayment(stripe, payment);
  } catch (error) {
    return failureOf(stripe, order, error);
  }
}

/**
 * Reads a refused payment, after canceling it so that it can't succeed later.
 * @throws the error if the card may have been charged
 */
async function failureOf(stripe: StripeClient, order: CreditOrder, error: unknown): Promise<Truth> {
  const { type, payment_intent: made } = Object(error) as Partial<Stripe.errors.StripeError>;
  if (type === 'StripeCardError' && made) {
    const truth = await cancelAndRead(stripe, made.id);
    if (truth.state === 'pending') throw error; // not canceled: retry later
    return truth;
  }
  const failure = refusalOf(order, Object(error));
  if (failure === undefined) throw error;
  return searchBeforeFailing(stripe, order, failure);
}

/** Why this Idempotency-Key can't charge the card any more; undefined: it still may. */
function refusalOf(
  order: CreditOrder,
  { type, statusCode = 0, headers }: Partial<Stripe.errors.StripeError>,
): string | undefined {
  if (type === 'StripeIdempotencyError') return 'the card was changed while it was charged';
  // 409: another process's call with the same key is under way.
  if (type === 'StripeInvalidRequestError' && statusCode !== 409) return 'the payment was refused';
  // Stripe replays a saved 500 for a day. A new key could charge the card twice.
  const isSaved = headers?.['idempotent-replayed'] === 'true' || order.age_seconds > CHARGE_SECONDS;
  return isSaved && statusCode >= 500 ? 'Stripe failed to charge the card' : undefined;
}

async function searchBeforeFailing(
  stripe: StripeClient,
  order: CreditOrder,
  failure: string,
): Promise<Truth> {
  const lost = await findPayment(stripe, order);
  if (!lost) return failedTruth(failure, null);
  const isCharged = lost.status === 'succeeded' || lost.status === 'processing';
  return isCharged ? truthOfPayment(stripe, lost) : cancelAndRead(stripe, lost.id);
}

/** Cancels an unpaid payment, so that it can't succeed later, and reads it. */
async function cancelAndRead(stripe: StripeClient, id: string): Promise<Truth> {
  await stripe.paymentIntents.cancel(id).catch(() => undefined);
  return readPayment(stripe, id);
}

async function readPayment(stripe: StripeClient, id: string): Promise<Truth> {
  const expand = [CHARGE_OF_PAYMENT];
  return truthOfPayment(stripe, await stripe.paymentIntents.retrieve(id, { expand }));
}

/** Searches all customers, since the account may have a new one by now. */
async function findPayment(
  stripe: StripeClient,
  order: CreditOrder,
): Promise<Stripe.PaymentIntent | undefined> {
  const ordered = Math.floor(order.created_at.getTime() / 1000);
  // Clocks may differ by an hour.
  const created = { gte: ordered - 3600, lte: ordered + KEY_SECONDS + 3600 };
  const expand = [`data.${CHARGE_OF_PAYMENT}`];
  const list = stripe.paymentIntents.list({ created, limit: 100, expand });
  for await (const payment of list) if (payment.metadata.order === order.id) return payment;
  return undefined;
}
