import { Type } from 'typebox';
import { buyPack } from '../../billing/buy-pack.ts';
import { type CreditOrder, listOrders, readOrder } from '../../billing/credit-order.ts';
import { settleOrder } from '../../billing/settle-order.ts';
import type { Database } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import { limitSchema } from '../../requests/routes.ts';
import { type AsJson, siteRoute } from '../route.ts';
import { type BillingSiteDeps, withStripe } from './stripe-work.ts';

/** A purchase as its customer sees it. Amounts are in minor units of the currency. */
export type OrderShown = AsJson<ReturnType<typeof shown>>;

function shown(order: CreditOrder) {
  const { id, created_at, kind, credits, price, currency, refunded, receipt_url } = order;
  const state = stateOf(order);
  return {
    id,
    created_at,
    kind,
    credits,
    price,
    currency,
    refunded,
    receipt_url,
    state,
    name: order.offer_name,
    // The credits that it brought, less those taken back; some may be spent.
    booked: order.booked,
    // Where an open order can still be paid.
    checkout_url: state === 'pending' ? order.checkout_url : null,
  };
}

/**
 * `under_way`: the payment page was completed but the money has not arrived, such as a bank
 * transfer. `refunded`, `part_refunded` and `disputed` are states of a paid order.
 */
function stateOf(
  order: CreditOrder,
): CreditOrder['state'] | 'under_way' | 'refunded' | 'part_refunded' | 'disputed' {
  const { state, disputed, refunded, amount } = order;
  const isPageOver = order.stripe_id !== null && order.checkout_url === null;
  if (state === 'pending' && isPageOver) return 'under_way';
  if (state !== 'paid') return state;
  if (disputed > 0) return 'disputed';
  if (refunded === 0) return 'paid';
  return refunded >= (amount ?? 0) ? 'refunded' : 'part_refunded';
}

const postOrder = siteRoute('POST /console/api/orders', {
  rate: { max: 30, seconds: 600 },
  body: Type.Object({
    pack_id: Type.String({ maxLength: 40 }),
    /** Whether auto-reload may charge the card later. */
    keep_card: Type.Optional(Type.Boolean()),
  }),
  handle: async (deps: BillingSiteDeps, { body, session: { accountId } }) => {
    const wanted = { accountId, packId: body.pack_id, savesCard: body.keep_card ?? false };
    const { orderId, url } = await withStripe(deps, (billing) => buyPack(billing, wanted));
    return { order_id: orderId, url };
  },
});

const listOwnOrders = siteRoute('GET /console/api/orders', {
  query: Type.Object({
    cursor: Type.Optional(Type.String({ maxLength: 40 })),
    limit: limitSchema(),
  }),
  handle: async ({ db }: BillingSiteDeps, { query, session: { accountId } }) => {
    const limit = query.limit ?? 20;
    const orders = await listOrders(db, { accountId, after: query.cursor, limit });
    const next = orders.length < limit ? null : (orders.at(-1)?.id ?? null);
    return { items: orders.map(shown), next };
  },
});

const getOrder = siteRoute('GET /console/api/orders/:id', {
  handle: async ({ db }: BillingSiteDeps, { params, session: { accountId } }) =>
    shown(await requireOwn(db, accountId, params.id)),
});

/** While a customer waits for an order, Stripe is asked at most this often. */
const SETTLE_PAUSE_MS = 2000;

const postSettle = siteRoute('POST /console/api/orders/:id/settle', {
  handle: async (deps: BillingSiteDeps, { params, session: { accountId } }) => {
    const order = await requireOwn(deps.db, accountId, params.id);
    const age = Date.now() - (order.settled_at?.getTime() ?? 0);
    if (age < SETTLE_PAUSE_MS) return shown(order);
    return shown(await withStripe(deps, (billing) => settleOrder(billing, order.id)));
  },
});

async function requireOwn(db: Database, accountId: string, id: string): Promise<CreditOrder> {
  const order = await readOrder(db, id);
  if (order?.account_id === accountId) return order;
  throw new ApiError('not_found', 'This account has no such purchase.');
}

export const ORDER_ROUTES = [postOrder, listOwnOrders, getOrder, postSettle];
