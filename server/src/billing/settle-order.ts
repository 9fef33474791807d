// The room billing/: what customers buy at Stripe. A pack, a plan's invoice or an automatic
// purchase is an order; settling it reads from Stripe what was paid, and books the difference
// (docs/ARCHITECTURE.md, "Walk 3"; decisions/0030).

import { command, namedStatement, type Transaction } from '../database/database.ts';
import { ApiError } from '../kernel/errors.ts';
import { takeBackUpTo } from '../ledger/debts.ts';
import { grantPayment } from '../ledger/ledger.ts';
import { type CreditOrder, movementNames, readOrder } from './credit-order.ts';
import { CHARGE_SECONDS, mayBePaid, readReload, stopReload } from './low-balance/reload.ts';
import { type BillingDeps, isInScope } from './stripe-client.ts';
import { isDisputeOpen } from './taken-back.ts';
import { readCheckoutOrder, readInvoiceOrder, type Truth, worth } from './truth.ts';

/**
 * Syncs an order and the ledger with Stripe. Idempotent, and safe in several processes at once:
 * reads Stripe between transactions, and books the difference only if the order has not changed
 * meanwhile.
 * @returns the order as it is now; unchanged if it belongs to another Stripe mode or account
 * @throws Error if there is no such order; Stripe's error if a request fails; ApiError
 *   `service_busy` if its response can't be true
 */
export async function settleOrder(deps: BillingDeps, id: string): Promise<CreditOrder> {
  for (;;) {
    const order = await readOrder(deps.db, id);
    if (!order) throw new Error(`there is no order ${id}`);
    if (!isInScope(order, deps.scope)) return order;
    const truth = checkTruth(order, await readTruth(deps, order), deps);
    const isBooked = await deps.db.transaction((tx) => book(tx, deps, order, truth));
    if (!isBooked) continue; // changed meanwhile: the response may be stale
    return (await readOrder(deps.db, id)) ?? order;
  }
}

function readTruth({ stripe }: BillingDeps, order: CreditOrder): Promise<Truth> {
  if (order.kind === 'pack') return readCheckoutOrder(stripe, order);
  return order.kind === 'invoice' ? readInvoiceOrder(stripe, order) : readReload(stripe, order);
}

type CheckedTruth = Omit<Truth, 'state'> & { state: CreditOrder['state'] };

/**
 * Compares what Stripe says with the order: a payment that does not fit makes it `mismatched`.
 * @throws ApiError `service_busy` if a paid order became unpaid: returned money shows as a refund
 *   or dispute, so the response is wrong
 */
function checkTruth(order: CreditOrder, truth: Truth, { log }: BillingDeps): CheckedTruth {
  const { priceAtStripe, state } = truth;
  if (order.state === 'paid' && state !== 'paid') {
    log.error({ order: order.id, state }, 'Stripe does not know that an order was paid');
    const message = 'The payment provider contradicts itself. Nothing was changed.';
    throw new ApiError('service_busy', message, { retryAfterSeconds: 60 });
  }
  if (state !== 'paid') return truth;
  // An order of 0 credits is an invoice with lines that no plan explains; `failure` names them.
  if (order.credits === 0) return { ...truth, state: 'mismatched' };
  if (order.state !== 'paid' && order.is_deleted) {
    return { ...truth, state: 'mismatched', failure: 'the account is closed: refund the payment' };
  }
  if (priceAtStripe?.price === order.price && priceAtStripe.currency === order.currency)
    return truth;
  return { ...truth, state: 'mismatched', failure: 'another amount was paid' };
}

// The expiry counts from the first booking. What is booked after it, such as after a won dispute,
// stays usable for 7 more days.
const CHANGE = namedStatement(
  'order_change',
  `update orders set revision = revision + 1, settled_at = clock_now(), state = :state::text,
     stripe_account = coalesce(stripe_account, :account),
     stripe_id = coalesce(:stripeId, stripe_id),
     stripe_payment = coalesce(:payment, stripe_payment),
     checkout_url = case when not :isPageOver::boolean then checkout_url end,
     amount = case when :state::text in ('paid', 'mismatched') then :amount::bigint end,
     refunded = :refunded,
     disputed = :disputed, dispute = :dispute,
     receipt_url = coalesce(:receiptUrl, receipt_url), failure = :failure,
     due_at = clock_now() + :nextSeconds::float8 * interval '1 second',
     may_be_paid_until = case when :mayBePaid::boolean then coalesce(may_be_paid_until,
       clock_now() + interval '${CHARGE_SECONDS} seconds') end,
     paid_at = case when :state::text = 'paid' then coalesce(paid_at, clock_now()) end,
     expires_at = case when :hasWorth::boolean
       then coalesce(expires_at, clock_now() + expires_days * interval '1 day') end
   where id = :id and revision = :revision
   returning case when expires_at < clock_now() then clock_now() + interval '7 days'
     else expires_at end as expires_at`,
);

// So that events of an invoice's further payments find the order, whose row has only the first.
const storePayments = command<[id: string, payments: string[]], Transaction>(
  'order_other_payments',
  `insert into order_payments (order_id, stripe_payment) select $1, unnest($2::text[])
   on conflict do nothing`,
);

/** @returns false if the order changed since it was read */
async function book(
  tx: Transaction,
  deps: BillingDeps,
  order: CreditOrder,
  truth: CheckedTruth,
): Promise<boolean> {
  const target = truth.state === 'paid' ? worth(order.credits, truth) : 0;
  const { id, revision } = order;
  const values = {
    ...truth,
    id,
    revision,
    account: deps.scope.account,
    nextSeconds: nextPollSeconds(order, truth),
    hasWorth: target > 0,
    mayBePaid: mayBePaid(order, truth),
  };
  const [changed] = await tx.query<{ expires_at: Date | null }>(CHANGE, CHANGE.values(values));
  if (!changed) return false;
  if (truth.otherPayments.length > 0) await storePayments(tx, id, truth.otherPayments);
  if (target > order.booked) await give(tx, order, target - order.booked, changed.expires_at);
  if (target < order.booked) await takeBack(tx, order, { target, truth });
  await stopReloadIfNeeded(tx, deps, order, truth);
  logChange(deps, order, truth); // before the commit: better twice than never
  return true;
}

function logChange({ log }: BillingDeps, before: CreditOrder, truth: CheckedTruth): void {
  const { state, failure, priceAtStripe } = truth;
  if (before.state === state) return;
  const fields = { order: before.id, state };
  if (state === 'mismatched') {
    log.error(
      { ...fields, failure, asked: priceAtStripe },
      'an order was paid and nothing is booked',
    );
  } else if (state === 'paid' && failure !== null) {
    log.warn({ ...fields, failure }, 'an order did not bring all its credits');
  } else {
    log.info(fields, 'an order was settled');
  }
}

const recordBooked = command<[id: string, credits: number, movements: number], Transaction>(
  'order_booked',
  'update orders set booked = booked + $2, movements = movements + $3 where id = $1',
);

async function give(tx: Transaction, order: CreditOrder, credits: number, expiresAt: Date | null) {
  const { id, account_id: accountId, movements } = order;
  const reference = `order:${id}:${movements + 1}`;
  await grantPayment(tx, { accountId, credits, reference, expiresAt });
  await recordBooked(tx, id, credits, 1);
}

/** Expired credits stay booked: they can't be clawed back. */
async function takeBack(
  tx: Transaction,
  order: CreditOrder,
  { target, truth }: { target: number; truth: Pick<Truth, 'refunded' | 'disputed'> },
) {
  const { id, account_id: accountId, movements } = order;
  const taken = await takeBackUpTo(tx, {
    accountId,
    payments: movementNames(order),
    credits: order.booked - target,
    note: truth.disputed > 0 ? 'the payment is disputed' : 'the payment was refunded',
    referenceOf: (movement) => `order:${id}:${movements + movement + 1}`,
  });
  if (taken.credits > 0) await recordBooked(tx, id, -taken.credits, taken.movements);
}

const MINUTE = 60;
const HOUR = 3600;
const DAY = 24 * HOUR;
/** How long after a payment to poll for refunds and disputes. */
const WATCHED_DAYS = 180;

/**
 * Seconds until Stripe is polled without an event; null: never. The pauses grow with the order's
 * age.
 */
function nextPollSeconds(
  order: CreditOrder,
  truth: Pick<CheckedTruth, 'state' | 'dispute' | 'stripeId'>,
): number | null {
  const age = Math.max(order.age_seconds, MINUTE);
  if (truth.state === 'pending') return Math.min(age, HOUR);
  if (mayBePaid(order, truth)) return CHARGE_SECONDS;
  // Search Stripe once more for a payment: the response that reported a failure may be wrong.
  if (truth.state === 'failed' && truth.stripeId === null) return age > DAY ? null : DAY;
  if (truth.state !== 'paid') return null;
  if (isDisputeOpen(truth.dispute)) return Math.min(age, DAY);
  return age > WATCHED_DAYS * DAY ? null : Math.min(age, 7 * DAY);
}

/** A failed automatic purchase, or any dispute, stops the account's automatic purchases. */
async function stopReloadIfNeeded(
  tx: Transaction,
  deps: BillingDeps,
  before: CreditOrder,
  truth: CheckedTruth,
) {
  const { account_id: accountId, kind } = before;
  if (kind === 'reload' && before.state === 'pending' && truth.state === 'failed') {
    await stopReload(tx, deps, { accountId, why: truth.failure ?? 'the payment failed' });
  }
  if (before.disputed === 0 && truth.disputed > 0) {
    await stopReload(tx, deps, { accountId, why: 'a payment is disputed' });
  }
}
