import { findAccount, requireNotErased } from '../../accounts/accounts.ts';
import { createKey, listKeys, revokeAllKeys, revokeKey } from '../../accounts/api-keys.ts';
import { UsageError } from '../../kernel/errors.ts';
import { performAction, recordAction } from '../../operator/actions.ts';
import type { Command } from '../command.ts';

export const KEY_COMMANDS: readonly Command[] = [
  {
    usage: 'keys create ACCOUNT [--name N] [--expires-at ISO]',
    summary: 'Create an API key; its secret is shown only now. ISO: a time, UTC without a zone',
    options: ['name', 'expires-at'],
    reason: 'optional',
    run: async (db, { words: [account = ''], options, action }) => {
      const accountId = await findAccount(db, account);
      const { name, 'expires-at': end } = options;
      const { keyId, secret, expiresAt } = await db.transaction(async (tx) => {
        await requireNotErased(tx, accountId);
        const created = await createKey(tx, { accountId, name, expiresAt: end });
        if (created.expiresAt && created.expiresAt.getTime() <= Date.now()) {
          throw new UsageError('--expires-at must be in the future');
        }
        await recordAction(tx, action, { target: created.keyId, details: { account: accountId } });
        return created;
      });
      return { key_id: keyId, secret, expires_at: expiresAt };
    },
  },
  {
    usage: 'keys revoke KEY_ID',
    summary: 'Respond 401 to this key from the next request on',
    options: [],
    reason: 'optional',
    run: (db, { words: [keyId = ''], action }) =>
      performAction(db, action, { target: keyId }, async (tx) => {
        const changed = await revokeKey(tx, keyId);
        return { key_id: keyId, revoked: true, changed };
      }),
  },
  {
    usage: 'keys revoke-all ACCOUNT --reason TEXT',
    summary: 'Respond 401 to all present keys of an account from the next request on',
    options: [],
    reason: 'required',
    run: async (db, { words: [account = ''], action }) => {
      const target = await findAccount(db, account);
      return performAction(db, action, { target }, async (tx) => {
        const revoked = await revokeAllKeys(tx, target);
        return { account_id: target, revoked, changed: revoked.length > 0 };
      });
    },
  },
  {
    usage: 'keys list ACCOUNT',
    summary: 'List the keys of an account, without their secrets',
    options: [],
    run: async (db, { words: [account = ''] }) => listKeys(db, await findAccount(db, account)),
  },
];
