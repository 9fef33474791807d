import { OPERATOR_ACCOUNTS } from './accounts.ts';
import { OPERATIONS } from './operations.ts';
import { OPERATOR_ORDERS } from './orders.ts';
import { OPERATOR_TASKS } from './tasks.ts';

/** The routes of the operator's console. */
export const OPERATOR_ROUTES = [
  ...OPERATIONS,
  ...OPERATOR_TASKS,
  ...OPERATOR_ACCOUNTS,
  ...OPERATOR_ORDERS,
];
