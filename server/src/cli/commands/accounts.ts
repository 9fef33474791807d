import { createAccount, disableAccount, findAccount } from '../../accounts/accounts.ts';
import type { Transaction } from '../../database/database.ts';
import { performAction, recordAction } from '../../operator/actions.ts';
import type { Command } from '../command.ts';

export const ACCOUNT_COMMANDS: readonly Command[] = [
  {
    usage: 'accounts create EMAIL',
    summary: 'Create an account with no credits',
    options: [],
    reason: 'optional',
    run: async (db, { words: [email = ''], action }) => {
      const record = (tx: Transaction, target: string) => recordAction(tx, action, { target });
      return { account_id: await createAccount(db, email, record) };
    },
  },
  {
    usage: 'accounts disable ACCOUNT',
    summary: 'Respond 401 to all keys of an account from now on; its tasks continue',
    options: [],
    reason: 'optional',
    run: async (db, { words: [account = ''], action }) => {
      const target = await findAccount(db, account);
      return performAction(db, action, { target }, async (tx) => {
        const changed = await disableAccount(tx, target);
        return { account_id: target, disabled: true, changed };
      });
    },
  },
];
