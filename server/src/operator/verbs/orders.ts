import { findAccount, withEmail, withEmails } from '../../accounts/accounts.ts';
import type { OrderState } from '../../billing/credit-order.ts';
import { Refusal } from '../../kernel/errors.ts';
import { listOrdersForOperator, settleByOperator, showOrder } from '../billing/order-listing.ts';
import { choiceOf, flag, optional, text } from '../verb/fields.ts';
import { verb } from '../verb/verb.ts';
import { ACCOUNT } from './subjects.ts';

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
      return listOrdersForOperator(db, { accountId, state, disputed, ...page });
    },
    runOnConsole: async (run, { db }) => withEmails(db, await run()),
  }),
  'orders show': verb({
    summary: 'Show an order: its terms, its payment, refunds, disputes and credits',
    fields: { id: text('The id of the order.', { word: 'ID' }) },
    words: ['id'],
    run: ({ db }, { id }) => showOrder(db, id),
    runOnConsole: async (run, { db }) => withEmail(db, await run()),
  }),
  'orders settle': verb({
    summary:
      'Ask Stripe about an order now, and book the difference; also with the id of an invoice ' +
      'or payment at Stripe, in_... or pi_..., that has no order yet',
    fields: {
      id: text('An order; or an invoice or payment at Stripe, in_… or pi_….', { word: 'ID' }),
    },
    words: ['id'],
    reason: 'optional',
    dialog: {
      title: 'Settle the order',
      effect: 'A worker asks Stripe about it now, and books what has changed.',
    },
    run: ({ db, waitSeconds }, { id }, action) => settleByOperator(db, action, id, waitSeconds),
    clickSeconds: 10,
  }),
};
