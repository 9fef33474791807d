import { findAccount, withEmail, withEmails } from '../../accounts/accounts.ts';
import {
  type CreditOrder,
  listOrders,
  movementNames,
  type OrderState,
  readOrder,
  wakeOrder,
} from '../../billing/credit-order.ts';
import {
  orderOfPayment,
  readPaymentLookup,
  requestPaymentLookup,
  STRIPE_PAYMENT,
} from '../../billing/payment-lookups.ts';
import type { Database } from '../../database/database.ts';
import { Refusal, UsageError } from '../../kernel/errors.ts';
import { untilFound } from '../../kernel/until-found.ts';
import { paymentSums } from '../../ledger/payments.ts';
import { type Action, performAction } from '../actions.ts';
import { ACCOUNT, choiceOf, flag, optional, text } from '../verb/fields.ts';
import { verb } from '../verb/verb.ts';

const STATES: readonly OrderState[] = ['pending', 'paid', 'failed', 'expired', 'mismatched'];

export const ORDERS = {
  'orders list': verb({
    summary: 'List what was bought, the newest first; with --disputed only chargebacks',
    fields: {
      account: optional({ ...ACCOUNT, word: 'A' }),
      state: optional(choiceOf('Only orders in this state.', STATES, { word: 'S' })),
      disputed: flag('Only orders whose payment was disputed.'),
    },
    cursorOf: (row: { order_id: string }) => row.order_id,
    run: async ({ db, page }, { account, state, disputed }) => {
      if (account !== undefined && (state !== undefined || disputed)) {
        throw new Refusal('account', account, 'can not be combined with {state} or {disputed}');
      }
      const accountId = account === undefined ? undefined : await findAccount(db, account);
      return (await listOrders(db, { accountId, state, disputed, ...page })).map(listingOf);
    },
    runOnConsole: async (run, { db }) => withEmails(db, await run()),
  }),
  'orders show': verb({
    summary: 'Show an order: its terms, its payment, refunds, disputes and credits',
    fields: { id: text('The id of the order.', { word: 'ID' }) },
    positional: ['id'],
    run: ({ db }, { id }) => showOrder(db, id),
    runOnConsole: async (run, { db }) => withEmail(db, await run()),
  }),
  'orders settle': verb({
    summary:
      'Ask Stripe about an order now, and book the difference; also with the id of an invoice, ' +
      'payment, charge or dispute at Stripe, even if it has no order yet',
    fields: {
      id: text('An order; or an invoice, payment, charge or dispute at Stripe, such as pi_….', {
        word: 'ID',
      }),
    },
    positional: ['id'],
    reason: 'optional',
    dialog: {
      title: 'Settle the order',
      effect: 'A worker asks Stripe about it now, and books what has changed.',
    },
    run: ({ db, waitSeconds }, { id }, action) => settleByOperator(db, action, id, waitSeconds),
    consoleWaitSeconds: 10,
  }),
};

function pick<Row extends object, Name extends keyof Row>(row: Row, ...names: Name[]) {
  return Object.fromEntries(names.map((name) => [name, row[name]])) as Pick<Row, Name>;
}

/** An order in a list for operators. Amounts are in minor units of the currency. */
function listingOf(order: CreditOrder) {
  return {
    order_id: order.id,
    ...pick(order, 'account_id', 'created_at', 'kind'),
    offer: order.offer_name,
    ...pick(order, 'state', 'credits', 'booked', 'price', 'currency'),
    ...pick(order, 'refunded', 'disputed', 'dispute'),
    mode: order.stripe_mode,
  };
}

async function requireOrder(db: Database, id: string): Promise<CreditOrder> {
  const order = await readOrder(db, id);
  if (order) return order;
  throw new UsageError(`there is no order ${JSON.stringify(id)}`);
}

async function showOrder(db: Database, id: string) {
  const order = await requireOrder(db, id);
  const movements = await paymentSums(db, movementNames(order));
  return {
    ...listingOf(order),
    ...pick(order, 'amount', 'stripe_id', 'stripe_payment', 'subscription_id', 'receipt_url'),
    ...pick(order, 'failure', 'paid_at', 'settled_at'),
    credits_expire_at: order.expires_at,
    movements: movements
      .map(({ name, credits }) => ({ reference: name, credits }))
      .sort((a, b) => a.reference.localeCompare(b.reference, 'en', { numeric: true })),
  };
}

const WAIT_SECONDS = 15;
const LOOK_SECONDS = 0.25;

/** @param id of an order, or of a Stripe object that belongs to one, which is found or made */
async function settleByOperator(
  db: Database,
  action: Action,
  id: string,
  waitSeconds = WAIT_SECONDS,
) {
  if (!STRIPE_PAYMENT.test(id)) return settleKnown(db, action, { id, waitSeconds });
  const known = await orderOfPayment(db, id);
  if (known !== undefined) return settleKnown(db, action, { id: known, waitSeconds });
  await performAction(db, action, { target: id }, async (tx) => {
    await requestPaymentLookup(tx, id);
    return { changed: true };
  });
  const found = await waitFor({ id, waitSeconds }, () => readPaymentLookup(db, id));
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

async function waitFor<Found>(
  { id, waitSeconds }: Wanted,
  read: () => Promise<Found | undefined>,
): Promise<Found> {
  const signal = AbortSignal.timeout(waitSeconds * 1000);
  const found = await untilFound({ pauseSeconds: LOOK_SECONDS, signal }, read);
  if (found !== undefined) return found;
  throw new UsageError(
    `no worker has settled ${id} in ${waitSeconds} s: is one running, with STRIPE_SECRET_KEY?`,
  );
}
