import { findAccount, requireNotErased } from '../../accounts/accounts.ts';
import {
  createKey,
  listKeys,
  revokeAllKeys,
  revokeKey,
  updateKey,
} from '../../accounts/api-keys.ts';
import { UsageError } from '../../kernel/errors.ts';
import { performAction, recordAction } from '../../operator/actions.ts';
import { spentThisMonth } from '../../tasks/create/key-cap.ts';
import { type Arguments, type Command, readTime } from '../command.ts';

export const KEY_COMMANDS: readonly Command[] = [
  {
    usage: 'keys create ACCOUNT [--name N] [--expires-at ISO] [--monthly-cap CREDITS]',
    summary: 'Create an API key; its secret is shown only now. ISO: a time, UTC without a zone',
    options: ['name', 'expires-at', 'monthly-cap'],
    reason: 'optional',
    run: async (db, { words: [account = ''], options, action }) => {
      const accountId = await findAccount(db, account);
      const { name } = options;
      const expiresAt = readTime(options, 'expires-at');
      if (expiresAt && expiresAt.getTime() <= Date.now()) {
        throw new UsageError('--expires-at must be in the future');
      }
      const monthlyCap = readCap(options) ?? undefined;
      const { keyId, secret } = await db.transaction(async (tx) => {
        await requireNotErased(tx, accountId);
        const created = await createKey(tx, { accountId, name, expiresAt, monthlyCap });
        await recordAction(tx, action, { target: created.keyId, details: { account: accountId } });
        return created;
      });
      return {
        ...{ key_id: keyId, secret, expires_at: expiresAt ?? null },
        monthly_cap: monthlyCap ?? null,
      };
    },
  },
  {
    usage: 'keys update KEY_ID [--name N] [--monthly-cap CREDITS|none]',
    summary: 'Rename a key, or set what its creates may spend in a calendar month (UTC)',
    options: ['name', 'monthly-cap'],
    reason: 'optional',
    run: (db, { words: [keyId = ''], options, action }) => {
      const changes = { name: options.name, monthlyCap: readCap(options) };
      return performAction(db, action, { target: keyId, details: changes }, async (tx) => {
        const changed = await updateKey(tx, keyId, changes);
        return { key_id: keyId, changed };
      });
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
    summary: 'Respond 401 to all existing keys of an account from the next request on',
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
    summary: 'List the keys of an account with their caps and uses, without their secrets',
    options: [],
    run: async (db, { words: [account = ''] }) => {
      const keys = await listKeys(db, await findAccount(db, account));
      const spent = await spentThisMonth(
        db,
        keys.map((key) => key.key_id),
      );
      return keys.map((key) => ({ ...key, spent_this_month: spent.get(key.key_id) ?? 0 }));
    },
  },
];

/** @returns null for `none`, undefined without the option */
function readCap(options: Arguments['options']): number | null | undefined {
  const text = options['monthly-cap'];
  if (text === undefined) return undefined;
  if (text === 'none') return null;
  if (/^\d{1,12}$/.test(text)) return Number(text);
  throw new UsageError('--monthly-cap must be a whole number of credits, or none');
}
