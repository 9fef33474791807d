import { findAccount } from '../../accounts/accounts.ts';
import type { OrderState } from '../../billing/credit-order.ts';
import { UsageError } from '../../kernel/errors.ts';
import {
  listOrdersForOperator,
  settleByOperator,
  showOrder,
} from '../../operator/billing/order-listing.ts';
import type { Command } from '../command.ts';

export const ORDER_COMMANDS: readonly Command[] = [
  {
    usage: 'orders list [--account A] [--state S] [--disputed]',
    summary: 'List what was bought, the newest first; with --disputed only chargebacks',
    options: ['account', 'state'],
    flags: ['disputed'],
    cursorOf: (row: { order_id: string }) => row.order_id,
    run: async (db, { options: { account, state, disputed }, page }) => {
      if (account !== undefined && (state !== undefined || disputed !== undefined)) {
        throw new UsageError('--account can not be combined with --state or --disputed');
      }
      const accountId = account === undefined ? undefined : await findAccount(db, account);
      const filter = { accountId, state: readState(state), disputed: disputed !== undefined };
      return listOrdersForOperator(db, { ...filter, ...page });
    },
  },
  {
    usage: 'orders show ID',
    summary: 'Show an order: its terms, its payment, refunds, disputes and credits',
    options: [],
    run: (db, { words: [id = ''] }) => showOrder(db, id),
  },
  {
    usage: 'orders settle ID',
    summary:
      'Ask Stripe about an order now, and book the difference; also with the id of an invoice ' +
      'or payment at Stripe, in_... or pi_..., that has no order yet',
    options: [],
    reason: 'optional',
    run: (db, { words: [id = ''], action }) => settleByOperator(db, action, id),
  },
];

const STATES: readonly OrderState[] = ['pending', 'paid', 'failed', 'expired', 'mismatched'];

function readState(text: string | undefined): OrderState | undefined {
  const state = STATES.find((one) => one === text);
  if (text === undefined || state !== undefined) return state;
  throw new UsageError(`--state must be one of ${STATES.join(', ')}`);
}
