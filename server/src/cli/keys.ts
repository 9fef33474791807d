import { findAccount } from '../accounts/accounts.ts';
import { createKey, listKeys, revokeKey } from '../accounts/api-keys.ts';
import type { Command } from './command.ts';

export const KEY_COMMANDS: readonly Command[] = [
  {
    usage: 'keys create ACCOUNT [--name N] [--expires-at ISO]',
    summary: 'Create an API key; its secret is shown only once, now',
    options: ['name', 'expires-at'],
    run: async (db, { words: [account = ''], options }) => {
      const accountId = await findAccount(db, account);
      const { name, 'expires-at': expiresAt } = options;
      const { keyId, secret } = await createKey(db, { accountId, name, expiresAt });
      return { key_id: keyId, secret };
    },
  },
  {
    usage: 'keys revoke KEY_ID',
    summary: 'Respond 401 to this key from the next request on',
    options: [],
    run: async (db, { words: [keyId = ''] }) => {
      await revokeKey(db, keyId);
      return { key_id: keyId, revoked: true };
    },
  },
  {
    usage: 'keys list ACCOUNT',
    summary: 'List the keys of an account, without their secrets',
    options: [],
    run: async (db, { words: [account = ''] }) => listKeys(db, await findAccount(db, account)),
  },
];
