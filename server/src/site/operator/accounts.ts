import { Type } from 'typebox';
import { findAccount } from '../../accounts/accounts.ts';
import { listKeys } from '../../accounts/api-keys.ts';
import { describeMovement, offersOf, orderIdOf } from '../../billing/movement-words.ts';
import { readOverview } from '../../ledger/overview.ts';
import { movementPage } from '../../ledger/statements/movement-page.ts';
import { showAccount } from '../../operator/account-listing.ts';
import { waysIn } from '../../operator/accounts/signing-out.ts';
import { listActions } from '../../operator/actions.ts';
import { ACCOUNTS } from '../../operator/verbs/accounts.ts';
import { operatorRead, PAGE_ROWS, pageOf, verbRead } from './operator-route.ts';

/** Actions that are shown with an account. */
const ACTIONS = 20;

const ALL_MOVEMENTS = {
  kinds: ['paid', 'promotional'] as const,
  reasons: null,
  from: null,
  until: null,
};

export const OPERATOR_ACCOUNTS = [
  verbRead('/accounts', ACCOUNTS['accounts list']),
  operatorRead('/accounts/:id', {}, async ({ db }, { id }) => {
    const accountId = await findAccount(db, id);
    return {
      ...(await showAccount(db, accountId)),
      lots: (await readOverview(db, accountId)).lots,
      keys: await listKeys(db, accountId),
      ...(await waysIn(db, accountId)),
      actions: await listActions(db, { target: accountId, limit: ACTIONS }),
    };
  }),
  operatorRead(
    '/accounts/:id/statement',
    { cursor: Type.Optional(Type.String({ pattern: '^\\d{1,15}$' })) },
    async ({ db }, { id, query: { cursor } }) => {
      const before = cursor === undefined ? null : Number(cursor);
      const page = { ...ALL_MOVEMENTS, before, limit: PAGE_ROWS };
      const rows = await movementPage(db, await findAccount(db, id), page);
      const offers = await offersOf(db, rows);
      const lines = rows.map((row) => ({
        ...row,
        what: describeMovement(row, offers),
        order_id: orderIdOf(row),
      }));
      return pageOf(lines, (line) => String(line.id));
    },
  ),
];
