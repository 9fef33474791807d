import { Type } from 'typebox';
import { withEmails } from '../../accounts/accounts.ts';
import { selectHeld } from '../../operator/reconcile-held.ts';
import { readInput } from '../../operator/verb/fields.ts';
import { ORDERS } from '../../operator/verbs/orders.ts';
import { TASKS } from '../../operator/verbs/tasks.ts';
import { operatorRead, verbRead } from './operator-route.ts';

const Text = Type.Optional(Type.String());
const { provider, account, held_hours, cause } = TASKS['tasks reconcile'].fields;
const HELD = { provider, account, held_hours, cause };

export const OPERATOR_TASKS = [
  operatorRead(
    '/held',
    { provider: Text, account: Text, held_hours: Text, cause: Text },
    async ({ db }, { query }) => {
      const { held_hours: hours, ...filter } = readInput(HELD, query);
      const { tasks, confirm } = await selectHeld(db, { ...filter, hours });
      return { tasks: await withEmails(db, tasks), confirm };
    },
  ),
  verbRead('/tasks', TASKS['tasks list']),
  verbRead('/tasks/:id', TASKS['tasks show']),
  verbRead('/orders', ORDERS['orders list']),
  verbRead('/orders/:id', ORDERS['orders show']),
];
