import { getCreditsPage } from './credits.ts';
import { putAutoReload, putLowBalance } from './low-balance.ts';
import { getOrder, listOwnOrders, postOrder, postSettle } from './orders.ts';
import { getPacks } from './packs.ts';
import { getStatement, getStatementCsv } from './statement.ts';
import {
  getSubscription,
  postPortal,
  postSettleSubscription,
  postSubscription,
} from './subscription.ts';

/** The routes of the credits page. */
export const BILLING_ROUTES = [
  getCreditsPage,
  getPacks,
  postOrder,
  listOwnOrders,
  getOrder,
  postSettle,
  getSubscription,
  postSubscription,
  postSettleSubscription,
  postPortal,
  putLowBalance,
  putAutoReload,
  getStatement,
  getStatementCsv,
];
