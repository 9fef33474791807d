import { type Database, type Queryable, query, statement } from '../database/database.ts';
import { checkPages, checkTransferPages, type Report, runCheck } from '../ledger/audit-pages.ts';
import { ordersOfTransfers, paymentSums } from '../ledger/payments.ts';
import { type CreditOrder, movementNames } from './credit-order.ts';

type AuditedOrder = Pick<CreditOrder, 'id' | 'account_id' | 'booked' | 'movements'>;

const ordersAfter = query<[after: string, limit: number], AuditedOrder>(
  'audit_order_page',
  `select id, account_id, booked, movements from orders where id > $1 order by id limit $2`,
);

// Expired credits can't be clawed back, so an order may have booked more than it is worth.
const WORTH = statement(
  'audit_order_worth',
  `select id || ': ' || booked || ' credits are booked, but it is '
     || case state when 'paid' then 'worth ' || worth else state end as problem
   from orders, lateral (select case coalesce(amount, 0) when 0 then credits
     else div(credits::numeric * greatest(amount - refunded - disputed, 0), amount) end as worth) w
   where id = any($1) and case when state = 'paid' then booked < worth
     else state <> 'mismatched' and booked > 0 end order by id`,
);

// One payment may pay several invoices.
const PAID_TWICE = statement(
  'audit_order_payment',
  `select o.id || ': its payment was booked for another order too' as problem
   from orders o where o.id = any($1) and o.booked > 0 and exists (select from orders other
     where other.stripe_payment = o.stripe_payment and other.id <> o.id and other.booked > 0
       and (o.kind, other.kind) <> ('invoice', 'invoice'))
   order by o.id`,
);

const movementsOf = query<[ids: string[]], { id: string; movements: number }>(
  'audit_order_movements',
  'select id, movements from orders where id = any($1)',
);

/**
 * Checks that each order's booked credits cover its worth, and equal the sum of its transfers on
 * its account; that no payment was booked for two orders; and that transfers name only movements
 * that their orders have.
 */
export async function auditOrders(
  db: Pick<Database, 'snapshot'>,
  sizes: { orders: number; transfers: number },
  report: Report,
): Promise<void> {
  await checkPages(db, sizes.orders, async (tx, after) => {
    const page = await ordersAfter(tx, after, sizes.orders);
    await checkSums(tx, page, report);
    const ids = page.map(({ id }) => id);
    for (const check of [WORTH, PAID_TWICE]) await runCheck(tx, check, { values: [ids], report });
    return ids;
  });
  await checkTransferPages(db, sizes.transfers, async (tx, range) => {
    const named = await ordersOfTransfers(tx, ...range);
    const ids = named.map(({ order }) => order);
    const rows = await movementsOf(tx, ids);
    const known = new Map(rows.map(({ id, movements }) => [id, movements]));
    for (const { order, movement, reference } of named) {
      const movements = known.get(order) ?? 0;
      if (movement > movements) report(`${reference}: its order has ${movements} movements`);
    }
  });
}

async function checkSums(tx: Queryable, orders: AuditedOrder[], report: Report): Promise<void> {
  const sums = await paymentSums(tx, orders.flatMap(movementNames));
  const byOrder = Map.groupBy(sums, ({ name }) => name.split(':')[1] ?? '');
  for (const { id, account_id, booked } of orders) {
    const own = byOrder.get(id) ?? [];
    const total = own.reduce((sum, { credits }) => sum + credits, 0);
    if (total !== booked) {
      report(`${id}: ${booked} credits are booked, but its transfers add up to ${total}`);
    }
    if (own.some((sum) => sum.account_id !== account_id)) {
      report(`${id}: one of its transfers is in another account`);
    }
  }
}
