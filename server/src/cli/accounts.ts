import { createAccount, disableAccount, findAccount } from '../accounts/accounts.ts';
import type { Command } from './command.ts';

export const ACCOUNT_COMMANDS: readonly Command[] = [
  {
    usage: 'accounts create EMAIL',
    summary: 'Create an account with no credits',
    options: [],
    run: async (db, { words: [email = ''] }) => ({ account_id: await createAccount(db, email) }),
  },
  {
    usage: 'accounts disable ACCOUNT',
    summary: 'Respond 401 to all keys of an account from now on; its tasks continue',
    options: [],
    run: async (db, { words: [account = ''] }) => {
      const accountId = await findAccount(db, account);
      await disableAccount(db, accountId);
      return { account_id: accountId, disabled: true };
    },
  },
];
