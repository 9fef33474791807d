import { OPERATOR_ACCOUNTS } from './accounts.ts';
import { OPERATIONS } from './operations.ts';
import { OPERATOR_TASKS } from './tasks.ts';
import { verbRoutes } from './verb-routes.ts';

/** The routes of the operator's console: what its pages read, and all verbs. */
export const OPERATOR_ROUTES = [
  ...OPERATIONS,
  ...OPERATOR_TASKS,
  ...OPERATOR_ACCOUNTS,
  ...verbRoutes(),
];
