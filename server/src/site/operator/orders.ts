import { Type } from 'typebox';
import { findAccount, withEmail, withEmails } from '../../accounts/accounts.ts';
import {
  listOrdersForOperator,
  settleByOperator,
  showOrder,
} from '../../operator/billing/order-listing.ts';
import { operatorAction, operatorRead, PAGE, PAGE_ROWS, pageOf } from './operator-route.ts';

/** How long a click waits for a worker that asks Stripe. */
const SETTLE_SECONDS = 10;

export const OPERATOR_ORDERS = [
  operatorRead(
    '/orders',
    {
      ...PAGE,
      account: Type.Optional(Type.String({ maxLength: 254 })),
      disputed: Type.Optional(Type.Literal('yes')),
    },
    async ({ db }, { query: { cursor, account, disputed } }) => {
      const accountId = account === undefined ? undefined : await findAccount(db, account);
      const page = { after: cursor, limit: PAGE_ROWS };
      const filter = { ...page, accountId, disputed: disputed !== undefined };
      const rows = await withEmails(db, await listOrdersForOperator(db, filter));
      return pageOf(rows, (row) => row.order_id);
    },
  ),
  operatorRead('/orders/:id', {}, async ({ db }, { id }) => withEmail(db, await showOrder(db, id))),
  operatorAction('orders settle', '/orders/:id/settle', {}, ({ db }, { id, action }) =>
    settleByOperator(db, action, id, SETTLE_SECONDS),
  ),
];
